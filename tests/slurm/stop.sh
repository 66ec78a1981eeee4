#!/bin/bash
# Ends what start.sh DIR started.
for name in slurmd slurmctld munged; do
    file=$1/run/$name.pid
    [ -f "$file" ] && kill "$(cat "$file")"
done
true
