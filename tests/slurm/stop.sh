#!/bin/bash
# Ends what start.sh DIR started.
for file in "$1"/run/slurmd-*.pid "$1"/run/slurmctld.pid "$1"/run/munged.pid; do
    [ -f "$file" ] && kill "$(cat "$file")"
done
true
