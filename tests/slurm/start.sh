#!/bin/bash
# SLURM without systemd, as root: start.sh DIR. Everything it makes is in DIR; stop.sh DIR ends it. Its second node is this
# machine under another name, and is down where no namespace can be had for that name.
set -e
D=$(mkdir -p "$1" && cd "$1" && pwd); H=$(hostname -s)
mkdir -p $D/{state,spool,log,run}; chmod 755 $D
# munge: own key + own socket, run as root with --force (socket dir not owned by munge user)
[ -f $D/munge.key ] || (dd if=/dev/urandom of=$D/munge.key bs=128 count=1 status=none; chmod 600 $D/munge.key)
munged --force --key-file=$D/munge.key --socket=$D/run/munge.sock --pid-file=$D/run/munged.pid --log-file=$D/log/munged.log --seed-file=$D/run/munge.seed
MEM=$(( $(awk '/MemTotal/{print $2}' /proc/meminfo)/1024 - 512 ))
cat > $D/slurm.conf <<C
ClusterName=test
SlurmctldHost=$H(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$D/run/munge.sock,cred_expire=5
CryptoType=crypto/munge
SlurmctldPort=16817
SlurmctldPidFile=$D/run/slurmctld.pid
SlurmdPidFile=$D/run/slurmd-%n.pid
StateSaveLocation=$D/state
SlurmdSpoolDir=$D/spool/%n
SlurmctldLogFile=$D/log/slurmctld.log
SlurmdLogFile=$D/log/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/filetxt
JobCompLoc=$D/log/jobcomp.log
MpiDefault=none
ReturnToService=2
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=1,bf_interval=1,sched_min_interval=0,batch_sched_delay=0
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
MinJobAge=300
JobRequeue=1
KillWait=5
InactiveLimit=0
SlurmctldTimeout=30
SlurmdTimeout=30
SlurmctldDebug=info
SlurmdDebug=info
MessageTimeout=10
NodeName=$H NodeAddr=127.0.0.1 Port=16818 CPUs=$(nproc) RealMemory=$MEM State=UNKNOWN
NodeName=${H}-two NodeAddr=127.0.0.1 Port=16819 CPUs=1 RealMemory=$MEM State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
C
export SLURM_CONF=$D/slurm.conf
slurmctld -f $D/slurm.conf -c -i
slurmd -f $D/slurm.conf -c
unshare --uts sh -c "hostname ${H}-two && exec slurmd -f $D/slurm.conf -c" || true
for _ in $(seq 1 100); do
    sinfo -h -n $H -o '%t' 2>/dev/null | grep -q '^idle' && exit 0
    sleep 0.1
done
echo "the node is not idle after 10 s (is another SLURM at its ports?): see $D/log" >&2
exit 1
