//% plain x

x = ${nothing};

//% part part
int
${another}
