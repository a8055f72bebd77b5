//% own inside
inside;
