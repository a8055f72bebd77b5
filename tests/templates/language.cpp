//# Notes are not copied, with whatever words.
//% own begin reg_ step
//% plain value kiln__step
const int begin = 0x1f + step; // begin stays as it is in comments
"begin"; 'b'; "a \" begin"; begin.size; begin->size; begin ...begin;
reg_${yes} = begin.width_${yes} + ${yes}_begin + kiln__step;
    //% for p in items
int value${p.name};
        //% if p.first
reg_${p.name}
        //% else
step
        //% end
    //% end
//% if !no
    //% insert inner/${yes}.cpp
    //% insert inner/part.cpp:last
//% end
//% if no
int value;
//% end
$begin
