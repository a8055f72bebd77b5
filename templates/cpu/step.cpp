//# Bytes from one element of a row to the next; a constant where the layout fixes it, so that the
//# loop can be vectorised.
//% own a step_
//% if p.vector
        [[maybe_unused]] constexpr long long step_${p.name} = sizeof(${p.type});
//% else
//% if p.splat
        [[maybe_unused]] constexpr long long step_${p.name} = 0;
//% else
        [[maybe_unused]] const long long step_${p.name} = a.stride_${p.name}_${inner};
//% end
//% end
