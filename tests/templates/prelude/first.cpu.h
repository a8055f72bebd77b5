//# Sections of a file that is for one device.
//% section base
// base

int base;

//% section more needs base
//% when b c
//% when d
int more;
