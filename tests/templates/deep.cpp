//% insert deep.cpp
