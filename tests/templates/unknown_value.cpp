//% plain x

x = ${nothing};
