//% own inside
inside;
//% insert :more

//# Not copied.
//% part more
//% plain inside
inside += 1;
//% insert :last

//% part last
inside++;
