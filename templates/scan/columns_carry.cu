//# Phase 3: what stands above the step comes before what stands above the thread's rows in it, and
//# takes in the step.
//% own V base based carries carry reduce sum v
        #pragma unroll
        for (int v = 0; v < V; v++) {
            if (carries) {
                base[v] = based ? reduce(carry[v], base[v]) : carry[v];
                carry[v] = reduce(carry[v], sum[v]);
            } else {
                carry[v] = sum[v];
            }
        }
        based = based || carries;
        carries = true;
