# Sourced by the sbatch files beside it: start a command, end it cleanly before the time limit, go on at the next start.

set -u
set -m # a command started with & would else ignore SIGINT
server=
requeue=
stopped=

# Ends what runs as Ctrl-C does. Nothing is lost where it is killed instead: the same command goes on.
stop() {
    stopped=1
    if [ "${steps:-}" ]; then
        scancel --signal=INT "$SLURM_JOB_ID" # srun itself would ask a second time
    elif [ "${command:-}" ]; then
        kill -INT -- "-$command" 2>/dev/null || true
    fi
}

# run COMMAND...: its exit code is the job's, unless the time limit was near: then the job is queued again.
run() {
    local code=0
    echo "$(date -u +%FT%TZ) start ${SLURM_RESTART_COUNT:-0} of job $SLURM_JOB_ID on ${SLURM_JOB_NODELIST:-$(hostname)}: $*"
    trap 'requeue=1; stop' USR1
    trap stop TERM
    "$@" &
    command=$!
    # A trap ends `wait`, and the command has its time to end then.
    while wait "$command"; code=$?; kill -0 "$command" 2>/dev/null; do :; done
    trap '' USR1 TERM
    stop_server
    echo "$(date -u +%FT%TZ) exit code $code"
    if [ "$requeue" ] && [ "$code" -ne 0 ]; then
        echo "the time limit was near: the job is queued again and goes on"
        exec scontrol requeue "$SLURM_JOB_ID"
    fi
    exit "$code"
}

# Starts a vLLM server of RLTPF_SERVE (a model) for this job alone, and waits until it is healthy.
serve() {
    [ "${RLTPF_SERVE:-}" ] || return 0
    local port start=$SECONDS log="logs/server-$SLURM_JOB_ID.log"
    port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
    # shellcheck disable=SC2086  # both hold several words
    ${RLTPF_SERVER:-vllm serve} "$RLTPF_SERVE" --host 127.0.0.1 --port "$port" ${RLTPF_SERVER_OPTIONS:-} >"$log" 2>&1 &
    server=$!
    trap stop_server EXIT
    until python3 -c "import urllib.request as u; u.urlopen('http://127.0.0.1:$port/health', timeout=5)" 2>/dev/null; do
        if ! kill -0 "$server" 2>/dev/null; then
            echo "the server ended before it was ready: see $log" >&2
            exit 1
        fi
        if [ $((SECONDS - start)) -ge "${RLTPF_SERVER_WAIT:-1800}" ]; then
            echo "the server was not healthy after $((SECONDS - start)) s (RLTPF_SERVER_WAIT): see $log" >&2
            exit 1
        fi
        sleep 2
    done
    export OPENAI_BASE_URL="http://127.0.0.1:$port/v1" OPENAI_API_KEY=EMPTY
    echo "the server is healthy after $((SECONDS - start)) s"
}

stop_server() {
    [ "$server" ] || return 0
    kill -TERM -- "-$server" 2>/dev/null
    wait "$server" 2>/dev/null
    server=
}
