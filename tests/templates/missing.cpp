//% insert ${yes}/none.cpp
