// norms (CUDA): the built-in names take double alone; these are their float forms.
KILN_FN float norm3d(float a, float b, float c) { return norm3df(a, b, c); }
KILN_FN float norm4d(float a, float b, float c, float d) { return norm4df(a, b, c, d); }
KILN_FN float rhypot(float a, float b) { return rhypotf(a, b); }
KILN_FN float rnorm3d(float a, float b, float c) { return rnorm3df(a, b, c); }
KILN_FN float rnorm4d(float a, float b, float c, float d) { return rnorm4df(a, b, c, d); }
