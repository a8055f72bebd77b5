//# Take the number kiln__j of an access along the row apart.
            ${index} kiln__rest_j = kiln__j;
//% for a in reduce_divided
            const ${index} kiln__quot_${a.n} = kiln__a.walk_${a.n}.quotient(kiln__rest_j);
            [[maybe_unused]] const ${index} kiln__at_${a.n} = kiln__rest_j - kiln__quot_${a.n} * (${index})kiln__a.walk_${a.n}.divisor;
            kiln__rest_j = kiln__quot_${a.n};
//% end
            [[maybe_unused]] const ${index} kiln__at_${reduce_first} = kiln__rest_j;
