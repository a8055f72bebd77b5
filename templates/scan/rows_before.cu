//# before_run, what stands before the lane's run in its warp's part of the tile (lane 0 has
//# nothing before its first one); sum, of that part so far.
//% own W all_runs before_run from_lane from_left lane part reduce run sum u
            part before_run = from_left<W>(run, 1);
            const part all_runs = from_lane<W>(run, W - 1);
            if (u > 0)
                before_run = lane > 0 ? reduce(sum, before_run) : sum;
            sum = u > 0 ? reduce(sum, all_runs) : all_runs;
