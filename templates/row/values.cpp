//# Where values are not kept: compute them again, as the stages before this one did.
//% if !held
//% for v in values
        [[maybe_unused]] ${v.type} ${v.name};
//% end
//% for r in earlier
//% if r.prep
        {
${r.prep}
        }
//% end
//% end
//% end
