//# Take the number j of an access along the row apart.
//% own a at_ j quot_ rest_j
            ${index} rest_j = j;
//% for a in reduce_divided
            const ${index} quot_${a.n} = a.walk_${a.n}.quotient(rest_j);
            [[maybe_unused]] const ${index} at_${a.n} = rest_j - quot_${a.n} * (${index})a.walk_${a.n}.divisor;
            rest_j = quot_${a.n};
//% end
            [[maybe_unused]] const ${index} at_${reduce_first} = rest_j;
