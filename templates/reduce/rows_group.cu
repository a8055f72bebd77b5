//# Each segment's parts into one, among the lanes of a group; then every lane has every result, and the
//# group's lanes share the work of finishing them.
    #pragma unroll
    for (int kiln__s = 0; kiln__s < kiln__S; kiln__s++) {
        kiln__part kiln__p = kiln__acc[kiln__s][0];
        #pragma unroll
        for (int kiln__l = 1; kiln__l < kiln__L; kiln__l++)
            kiln__p = kiln__merge(kiln__p, kiln__acc[kiln__s][kiln__l]);
        #pragma unroll
        for (int kiln__d = kiln__G / 2; kiln__d > 0; kiln__d /= 2)
            kiln__p = kiln__merge(kiln__p, kiln__exchange(kiln__p, kiln__d));
        kiln__acc[kiln__s][0] = kiln__p;
    }
    #pragma unroll
    for (int kiln__s = 0; kiln__s < kiln__S; kiln__s += kiln__G) {
        kiln__part kiln__mine = kiln__acc[kiln__s][0];
        #pragma unroll
        for (int kiln__t = 1; kiln__t < kiln__G && kiln__s + kiln__t < kiln__S; kiln__t++)
            if (kiln__lane == kiln__t)
                kiln__mine = kiln__acc[kiln__s + kiln__t][0];
        const ${index} kiln__k = kiln__output + (kiln__s + kiln__lane) * (${block} / kiln__G);
        if (kiln__s + kiln__lane < kiln__S && kiln__k < (${index})kiln__a.outputs)
            kiln__finish(kiln__k, kiln__mine);
    }
