//% for p in nothing
//% end
