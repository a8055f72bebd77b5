//# kiln__before_run, what stands before the lane's run in its warp's part of the tile (lane 0 has
//# nothing before its first one); kiln__sum, of that part so far.
            kiln__part kiln__before_run = kiln__from_left<kiln__W>(kiln__run, 1);
            const kiln__part kiln__all_runs = kiln__from_lane<kiln__W>(kiln__run, kiln__W - 1);
            if (kiln__u > 0)
                kiln__before_run = kiln__lane > 0 ? kiln__reduce(kiln__sum, kiln__before_run) : kiln__sum;
            kiln__sum = kiln__u > 0 ? kiln__reduce(kiln__sum, kiln__all_runs) : kiln__all_runs;
