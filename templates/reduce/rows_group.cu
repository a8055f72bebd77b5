//# Each segment's parts into one, among the lanes of a group; then every lane has every result, and the
//# group's lanes share the work of finishing them.
//% own G L S a acc d exchange finish k l lane merge mine output p part s t
    #pragma unroll
    for (int s = 0; s < S; s++) {
        part p = acc[s][0];
        #pragma unroll
        for (int l = 1; l < L; l++)
            p = merge(p, acc[s][l]);
        #pragma unroll
        for (int d = G / 2; d > 0; d /= 2)
            p = merge(p, exchange(p, d));
        acc[s][0] = p;
    }
    #pragma unroll
    for (int s = 0; s < S; s += G) {
        part mine = acc[s][0];
        #pragma unroll
        for (int t = 1; t < G && s + t < S; t++)
            if (lane == t)
                mine = acc[s + t][0];
        const ${index} k = output + (s + lane) * (${block} / G);
        if (s + lane < S && k < (${index})a.outputs)
            finish(k, mine);
    }
