package resp

import (
	"crypto/sha256"
	"encoding/binary"
	"strconv"
	"strings"

	"tenure/api"
	"tenure/kv"
	"tenure/server/resp/proto"
	"tenure/server/service"
)

// The commands that Redis does not have.
var tenureCommands = []command{
	{name: "tenure.once", arity: -4, acts: true, alone: true, run: once},
	{name: "tenure.fence", arity: -3, acts: true, alone: true, run: fenced},
	{name: "tenure.revision", arity: -1, alone: true, run: revision},
	{name: "tenure.watch", arity: 3, alone: true, run: watchPrefix},
	{name: "tenure.lease", arity: -3, acts: true, reads: isLeaseGet, alone: true, releases: isRelease, run: leaseCommand},
	{name: "tenure.read", arity: 2, alone: true, run: readMode},
}

// once is TENURE.ONCE KEY BASE command…: the command is applied at most once under that idempotency key, however often
// it is sent. BASE is a revision that the client had seen before it sent it for the first time.
func once(c *conn, args [][]byte) {
	base, err := strconv.ParseUint(string(args[2]), 10, 64)
	switch key := string(args[1]); {
	case err != nil:
		c.fail("ERR the base of TENURE.ONCE is a revision, from 0 up: see TENURE.REVISION")
	case key == "" || len(key) > api.MaxIdempotencyKeyBytes:
		c.fail("ERR the key of TENURE.ONCE has from 1 to " + strconv.Itoa(api.MaxIdempotencyKeyBytes) + " bytes")
	default:
		c.wrapped(args[3:], kv.Command{IdemKey: key, Base: base, Said: said(args[3:])})
	}
}

// said returns the hash of a command as it was sent.
func said(args [][]byte) string {
	h := sha256.New()
	for _, a := range args {
		h.Write(binary.AppendUvarint(nil, uint64(len(a))))
		h.Write(a)
	}
	return string(h.Sum(nil))
}

// fenced is TENURE.FENCE NAME:TOKEN command…: the command is refused if a larger token of that name was seen.
func fenced(c *conn, args [][]byte) {
	name, token, err := kv.ParseFence(string(args[1]))
	if err == nil {
		err = kv.ValidateFence(name)
	}
	if err != nil {
		c.fail("ERR TENURE.FENCE takes NAME:TOKEN, with a name that begins with lease/ or kv/: " + err.Error())
		return
	}
	c.trail.fence = name + ":" + strconv.FormatUint(token, 10)
	c.wrapped(args[2:], kv.Command{Fence: name, Token: token})
	c.trail.fence = ""
}

// wrapped carries out one command that writes, as a command of its own with the key or the fence of around.
func (c *conn) wrapped(args [][]byte, around kv.Command) {
	cmd := lookup(args[0])
	switch {
	case cmd == nil:
		c.fail(unknownCommand(args))
		return
	case cmd.takes(len(args)) && cmd.steps == nil && !cmd.alone && !cmd.immediate:
		c.fail(errWritesNothing(cmd))
		return
	case !cmd.takes(len(args)) || cmd.isAlone(args) || cmd.immediate:
		c.fail("ERR '" + cmd.name + "' with these arguments cannot be behind TENURE.ONCE or TENURE.FENCE")
		return
	}
	b := &c.batch
	b.name, b.once = cmd.name, around.IdemKey != ""
	cmd.do(c, args)
	b.once = false
	if len(b.steps) > 0 && b.writes == 0 {
		b.reset()
		c.fail(errWritesNothing(cmd))
		return
	}
	if len(b.steps) == 0 {
		return // it was refused
	}
	around.Op, around.Parts = kv.OpSequence, b.steps
	c.exec.dropResults(0)
	r, err := c.exec.apply(around)
	switch {
	case err == nil && r.Code == kv.CodeKeyTooOld:
		err = errTooOld
	case err == nil && r.Dropped:
		c.appliedBefore(&r)
		return
	case err == nil:
		err = c.exec.stepsOf(&around, &r, 0)
	}
	c.trail.batch(b, 0, c.exec.results, err)
	c.out.answer(func() { b.replies(&c.out.Writer, c.exec.results, err) })
	c.exec.forget()
}

// errWritesNothing is the reply to a command behind TENURE.ONCE or TENURE.FENCE that these are not for.
func errWritesNothing(cmd *command) string {
	return "ERR '" + cmd.name + "' writes nothing: send it as it is"
}

// appliedBefore answers a retry when nobody remembers the reply to the first copy, which was too large.
func (c *conn) appliedBefore(r *kv.Result) {
	text := "APPLIED it was applied before, and its reply was too large to be remembered"
	if r.Count == 0 { // no step was done: the first copy has replied what is there
		text = "NOTONCE its condition did not hold before, and its reply was too large to be remembered: nothing was changed"
		c.exec.results = append(c.exec.results, result{code: kv.CodeCondition})
	}
	c.trail.batch(&c.batch, 0, c.exec.results, nil)
	c.out.Error(text)
	c.exec.forget()
}

// errTooOld: nobody remembers what became of earlier copies of a command.
var errTooOld = service.Refuse(api.CodeKeyTooOld, "the base is older than what is remembered: this copy was not applied, "+
	"but an earlier one may have been")

// revision replies the revision of a key, or of the whole store; 0 for a key that is absent.
func revision(c *conn, args [][]byte) {
	switch len(args) {
	case 1:
		c.snapshot("", func(v view) error {
			n := v.Revision()
			c.batch.reply(func(w *proto.Writer) { w.Int(int64(n)) })
			return nil
		})
	case 2:
		key, ok := c.batch.key(args[1])
		if !ok {
			return
		}
		var n uint64
		_, err := c.to.GetMany([]string{key}, func(_ int, e kv.Entry) bool {
			n = e.ModifyIndex
			return true
		})
		if err != nil {
			c.fail(errorText(err))
			return
		}
		c.batch.reply(func(w *proto.Writer) { w.Int(int64(n)) })
	default:
		c.fail("ERR wrong number of arguments for 'tenure.revision' command")
	}
}

func readMode(c *conn, args [][]byte) {
	switch strings.ToLower(string(args[1])) {
	case "default":
		c.readIn(service.Default)
	case "consistent":
		c.readIn(service.Consistent)
	case "stale":
		c.readIn(service.Stale)
	default:
		c.fail("ERR TENURE.READ takes default, consistent or stale")
	}
}
