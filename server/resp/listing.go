package resp

import (
	"errors"
	"strconv"
	"strings"

	"tenure/kv"
	"tenure/server/resp/glob"
	"tenure/server/resp/proto"
)

// The commands on many keys. Those that look at them read a snapshot, behind what the connection has sent before.
var listingCommands = []command{
	{name: "keys", arity: 2, alone: true, run: keys},
	{name: "scan", arity: -2, alone: true, run: scan},
	{name: "dbsize", arity: 1, alone: true, run: dbsize},
	{name: "randomkey", arity: 1, alone: true, run: randomkey},
	{name: "flushdb", arity: -1, acts: true, steps: flush},
	{name: "flushall", arity: -1, acts: true, steps: flush},
}

// The bounds of what one command looks at and answers.
const (
	maxKeysReply = 1 << 20 // keys that KEYS answers; together they have at most maxReadBytes
	mostScanned  = 1 << 16 // keys that one SCAN passes, or looks at to find its place
)

// snapshot runs f on a view of the keys that begin with prefix; if there is none, or f fails, it replies why.
func (c *conn) snapshot(prefix string, f func(v view) error) {
	v, err := c.to.Snapshot(prefix)
	if err == nil {
		err = f(v)
		v.snapshot.Close()
	}
	if err != nil {
		c.fail(errorText(err))
	}
}

func dbsize(c *conn, _ [][]byte) {
	c.snapshot("", func(v view) error {
		n, err := v.Count(kv.Range{})
		if err == nil {
			c.batch.reply(func(w *proto.Writer) { w.Int(int64(n)) })
		}
		return err
	})
}

// errManyKeys: KEYS would answer too many.
var errManyKeys = errors.New("KEYS would answer more than a million keys, or 32 MiB: use SCAN")

// patternRefusal returns why a pattern is not taken, or "". The time to match one is bounded by its length.
func patternRefusal(pattern []byte) string {
	if len(pattern) > maxChannelBytes {
		return "ERR a pattern has at most " + strconv.Itoa(maxChannelBytes) + " bytes"
	}
	return ""
}

func keys(c *conn, args [][]byte) {
	if refusal := patternRefusal(args[1]); refusal != "" {
		c.fail(refusal)
		return
	}
	pattern := string(args[1])
	prefix := glob.Prefix(pattern)
	c.snapshot(prefix, func(v view) error {
		var found []string
		bytes, many, fits := 0, false, true
		err := v.Keys(kv.Range{Prefix: prefix}, func(key string) bool {
			if glob.Match(pattern, key) {
				found = append(found, key)
				bytes += len(key)
				fits = c.exec.held.hold(len(key))
			}
			many = len(found) > maxKeysReply || bytes > maxReadBytes
			return fits && !many
		})
		switch {
		case err != nil:
		case !fits:
			err = c.exec.tooMuchUnread()
		case many:
			err = errManyKeys
		}
		if err == nil {
			c.batch.reply(func(w *proto.Writer) { texts(w, found) })
		}
		return err
	})
}

// errFlush refuses what deletes the keys of all clients, where anybody who reaches the port could send it.
const errFlush = "NOPERM this would delete the keys of all clients, and nobody is asked for a token: nothing was " +
	"changed: give the node --acl, or allow it with --redis-flush"

// flush deletes all keys, in one command of the log.
func flush(b *batch, args [][]byte) {
	if b.noFlush {
		b.fail(errFlush)
		return
	}
	if len(args) > 2 || len(args) == 2 && !strings.EqualFold(string(args[1]), "sync") &&
		!strings.EqualFold(string(args[1]), "async") {
		b.fail(errSyntax)
		return
	}
	b.step(kv.Command{Op: kv.OpPrune})
	b.op(1, replyOK)
}

func texts(w *proto.Writer, list []string) {
	w.Array(len(list))
	for _, t := range list {
		w.Text(t)
	}
}
