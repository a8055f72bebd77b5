// basics (CPU): arithmetic by name. What is rounded (_rn) is never merged into a multiply-add.
KILN_FN float __fdividef(float x, float y) { return x / y; }
KILN_FN float fdividef(float x, float y) { return x / y; }
KILN_FN float __saturatef(float x) { return x > 0 ? x < 1 ? x : 1 : 0; }
KILN_FN float __fadd_rn(float x, float y) { return kiln__rounded(x + y); }
KILN_FN float __fsub_rn(float x, float y) { return kiln__rounded(x - y); }
KILN_FN float __fmul_rn(float x, float y) { return kiln__rounded(x * y); }
KILN_FN float __fdiv_rn(float x, float y) { return x / y; }
KILN_FN float __frcp_rn(float x) { return 1 / x; }
KILN_FN float __fsqrt_rn(float x) { return __builtin_sqrtf(x); }
KILN_FN float __frsqrt_rn(float x) { return (float)(1 / __builtin_sqrt(x)); }
KILN_FN float __fmaf_rn(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
KILN_FN double __dadd_rn(double x, double y) { return kiln__rounded(x + y); }
KILN_FN double __dsub_rn(double x, double y) { return kiln__rounded(x - y); }
KILN_FN double __dmul_rn(double x, double y) { return kiln__rounded(x * y); }
KILN_FN double __ddiv_rn(double x, double y) { return x / y; }
KILN_FN double __drcp_rn(double x) { return 1 / x; }
KILN_FN double __dsqrt_rn(double x) { return __builtin_sqrt(x); }
KILN_FN double __fma_rn(double x, double y, double z) { return __builtin_fma(x, y, z); }
