//% if nothing
//% end
