// abs of what has no sign.
KILN_FN unsigned int abs(unsigned int x) { return x; }
KILN_FN unsigned long abs(unsigned long x) { return x; }
KILN_FN unsigned long long abs(unsigned long long x) { return x; }
