// Runs the compiled judge under Lean compiled to WebAssembly, with the protocol on stdin and stdout; or compiles it.
// Usage: node embedded.js INSTALLATION [OUTPUT]. INSTALLATION is the folder with the patched lean.js, lean.wasm, lib/ and
// the judge; with OUTPUT, Judge.lean is compiled to that file.
'use strict';
const crypto = require('crypto');
const fs = require('fs');
const path = require('path');
const vm = require('vm');
const threads = require('worker_threads');

// Lean reports a deep recursion only where its own limit comes before that of the thread's stack, and the first thread of
// Node has a small one: Lean has another, and those it starts for its tasks have as much.
const stack = { resourceLimits: { stackSizeMb: 64 } };
if (threads.isMainThread) {
  const lean = new threads.Worker(__filename, { argv: process.argv.slice(2), ...stack });
  lean.on('error', (error) => fs.writeSync(2, `${error}\n`));
  lean.on('exit', (code) => process.exit(code));
  // A parent that was killed cannot end Lean, and a busy Lean reads no stdin: watch for it from here.
  const parent = process.ppid;
  setInterval(() => { if (process.ppid !== parent) process.kill(process.pid, 'SIGKILL'); }, 1000);
  return;
}
threads.Worker = class extends threads.Worker {
  constructor(file, options) {
    super(file, { ...options, ...stack });
  }
};

const installation = path.resolve(process.argv[2]);
const script = path.join(installation, 'lean.js');
const output = process.argv[3];
const source = (name) => fs.readFileSync(path.join(__dirname, name));
const files = output
  ? { 'Judge.lean': source('Judge.lean'), 'Main.lean': source('CompileJudge.lean') }
  : { 'Judge.olean': compiledJudge(), 'Main.lean': source('StartJudge.lean') };

// The name is that of `compiled_judge` in embedded.py: a judge compiled from another source must not answer.
function compiledJudge() {
  const digest = crypto.createHash('sha256').update(source('Judge.lean')).update(source('CompileJudge.lean')).digest('hex');
  return fs.readFileSync(path.join(installation, `Judge-${digest.slice(0, 16)}.olean`));
}

// A pipe is non-blocking under Node, and Lean takes EAGAIN for a hardware fault: wait instead. `null` after a newline ends a read there.
const buffer = Buffer.alloc(65536);
const pause = new Int32Array(new SharedArrayBuffer(4));
let length = 0;
let position = 0;
let lineEnded = false;
let fresh = false; // whether the read that asks has no byte so far
let asked = false;
function nextByte() {
  if (!asked) {
    asked = true;
    FS.unlink('/judge/Judge.olean'); // it is loaded, and no header may import it
  }
  // Where the newline was the last byte that a read had room for, `null` would be the whole of the next one: the end of the input.
  const ended = lineEnded && !fresh;
  lineEnded = fresh = false;
  if (ended) return null;
  while (position >= length) {
    try {
      length = fs.readSync(0, buffer);
      position = 0;
      if (length === 0) process.exit(0); // the parent is gone, however it ended
    } catch (error) {
      if (error.code === 'EAGAIN') Atomics.wait(pause, 0, 0, 2);
      else process.exit(error.code === 'EOF' ? 0 : 1);
    }
  }
  const byte = buffer[position++];
  lineEnded = byte === 10;
  return byte;
}

// A reply may be longer than the pipe has room for.
function writeAll(descriptor, bytes) {
  for (let done = 0; done < bytes.length;) {
    try {
      done += fs.writeSync(descriptor, bytes, done);
    } catch (error) {
      if (error.code !== 'EAGAIN') throw error;
      Atomics.wait(pause, 0, 0, 2);
    }
  }
}

// The mounted library is the only thing of the host that Lean sees, and it must not change.
function readOnly(nodefs) {
  const refuse = () => { throw new FS.ErrnoError(69); }; // EROFS
  for (const operation of ['setattr', 'mknod', 'rename', 'unlink', 'rmdir', 'symlink']) nodefs.node_ops[operation] = refuse;
  nodefs.stream_ops.write = nodefs.stream_ops.setattr = refuse;
  const open = nodefs.stream_ops.open;
  nodefs.stream_ops.open = (stream) => (stream.flags & 0o3 ? refuse() : open(stream));
  return nodefs;
}

function noteReads() {
  const stdin = FS.getStream(0);
  const { read } = stdin.stream_ops;
  stdin.stream_ops = { ...stdin.stream_ops, read: (...asked) => { fresh = true; return read(...asked); } };
}

// A thread has a second stack, in WebAssembly's memory, whose end nothing guards. That of Lean's first thread is 64 KiB: before it had
// used up the stack above, a deep recursion wrote over other data. With this much, Lean's own limit comes first.
function enlargeStack() {
  const size = 32 * 1024 * 1024;
  const low = _malloc(size);
  _emscripten_stack_set_limits(low + size, low);
  __emscripten_stack_restore(low + size);
}

globalThis.require = require;
globalThis.__filename = script;
globalThis.__dirname = installation;
globalThis.Module = {
  arguments: ['--run', '/judge/Main.lean'],
  locateFile: (file) => path.join(installation, file),
  preRun: [() => {
    FS.mkdirTree('/lib/lean');
    FS.mount(readOnly(NODEFS), { root: path.join(installation, 'lib') }, '/lib/lean');
    FS.mkdirTree(installation); // Lean looks for the folder of its program
    FS.mkdirTree('/judge');
    for (const [name, content] of Object.entries(files)) FS.writeFile(`/judge/${name}`, content);
    ENV.LEAN_PATH = output ? '/lib/lean' : '/lib/lean:/judge';
    ENV.LEAN_SYSROOT = '/';
  }],
  onRuntimeInitialized: () => { noteReads(); enlargeStack(); },
  stdin: nextByte,
  print: (line) => writeAll(1, Buffer.from(line + '\n')),
  printErr: output || process.env.RLTPF_LEAN_DEBUG ? (line) => fs.writeSync(2, line + '\n') : () => {},
};
if (output) {
  // Lean's exit code says nothing here; the file does.
  process.on('exit', () => {
    const compiled = FS.analyzePath('/judge/Judge.olean').exists;
    if (compiled) fs.writeFileSync(output, FS.readFile('/judge/Judge.olean'));
    process.exitCode = compiled ? 0 : 1;
  });
}
process.argv[1] = script; // the threads start from it
delete process.env.LEAN_PATH; // it would take precedence
vm.runInThisContext(fs.readFileSync(script, 'utf8'), { filename: script });
