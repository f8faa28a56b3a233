package resp

import (
	"errors"
	"math/rand/v2"
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
	{name: "flushdb", arity: -1, steps: flush},
	{name: "flushall", arity: -1, steps: flush},
}

// The bounds of what one command looks at and answers.
const (
	maxKeysReply = 1 << 20 // keys that KEYS answers; together they have at most maxReadBytes
	mostScanned  = 1 << 16 // keys that one SCAN passes
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

func keys(c *conn, args [][]byte) {
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
			err = c.limits.tooMuchUnread()
		case many:
			err = errManyKeys
		}
		if err == nil {
			c.batch.reply(func(w *proto.Writer) { texts(w, found) })
		}
		return err
	})
}

// randomkey answers a key near a random place: keys behind large gaps come more often than others.
func randomkey(c *conn, _ [][]byte) {
	c.snapshot("", func(v view) error {
		total, err := v.Count(kv.Range{Limit: mostScanned})
		if err != nil {
			return err
		}
		key, left := "", 0
		if total > 0 {
			left = rand.IntN(total)
		}
		err = v.Keys(kv.Range{Limit: total}, func(k string) bool {
			key = k
			left--
			return left >= 0
		})
		if err == nil {
			c.batch.reply(func(w *proto.Writer) {
				if total == 0 {
					w.Null()
				} else {
					w.Text(key)
				}
			})
		}
		return err
	})
}

// flush deletes all keys, in one command of the log.
func flush(b *batch, args [][]byte) {
	if len(args) > 2 || len(args) == 2 && !strings.EqualFold(string(args[1]), "sync") &&
		!strings.EqualFold(string(args[1]), "async") {
		b.fail(errSyntax)
		return
	}
	b.step(kv.Command{Op: kv.OpPrune})
	b.op(1, replyOK)
}

// scanning is what a SCAN was told.
type scanning struct {
	from    string // the last key of the call before
	pattern string
	count   int
	none    bool // a type other than string was asked for
}

func scan(c *conn, args [][]byte) {
	s, refusal := parseScan(&c.cursors, args)
	if refusal != "" {
		c.fail(refusal)
		return
	}
	c.snapshot("", func(v view) error {
		var found []string
		last, passed, looked, bytes, more := "", 0, 0, 0, false
		err := v.Pass(kv.Range{Start: s.from, After: s.from != ""}, func(key string, shown bool) bool {
			last, looked = key, looked+1
			if shown {
				passed++
				if !s.none && glob.Match(s.pattern, key) {
					found = append(found, key)
					bytes += len(key)
				}
			}
			more = passed == s.count || looked == mostScanned || bytes >= partBytes
			return !more
		})
		if err != nil {
			return err
		}
		cursor := "0"
		if more {
			cursor = c.cursors.keep(last)
		}
		c.batch.reply(func(w *proto.Writer) {
			w.Array(2)
			w.Text(cursor)
			texts(w, found)
		})
		return nil
	})
}

func texts(w *proto.Writer, list []string) {
	w.Array(len(list))
	for _, t := range list {
		w.Text(t)
	}
}

// parseScan reads the arguments of SCAN.
func parseScan(known *cursors, args [][]byte) (s scanning, refusal string) {
	s = scanning{pattern: "*", count: 10}
	if cursor := string(args[1]); cursor != "0" {
		var found bool
		if s.from, found = known.find(cursor); !found {
			return s, "ERR invalid cursor: it is of another node, or too old: begin again with 0"
		}
	}
	for i := 2; i < len(args); i += 2 {
		if i+1 == len(args) {
			return s, errSyntax
		}
		value := string(args[i+1])
		switch strings.ToLower(string(args[i])) {
		case "match":
			s.pattern = value
		case "count":
			n, ok := integer(args[i+1])
			if !ok {
				return s, errNotInteger
			}
			if n < 1 {
				return s, errSyntax
			}
			s.count = int(min(n, mostScanned))
		case "type":
			s.none = !strings.EqualFold(value, "string")
		default:
			return s, errSyntax
		}
	}
	return s, ""
}
