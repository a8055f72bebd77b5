//# Snippets that are not to be repeated for every access in flight: compiling them would take longer than they run.
//% plain kiln__long
    constexpr bool kiln__long = false
//% if in_index
        || true
//% end
//% if out_index
        || true
//% end
//% if in_number
        || true
//% end
//% if !identity
        || true
//% end
//% for p in inputs
//% if p.direct
        || true
//% end
//% end
        ;
