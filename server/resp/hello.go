package resp

import (
	"strconv"
	"strings"

	"tenure/server/resp/proto"
	"tenure/server/service"
)

var connectionCommands = []command{
	{name: "ping", arity: -1, subscriber: true, run: ping},
	{name: "echo", arity: 2, run: func(c *conn, a [][]byte) { c.batch.reply(func(w *proto.Writer) { w.Bulk(a[1]) }) }},
	{name: "quit", arity: -1, immediate: true, stranger: true, subscriber: true, ends: true, run: quit},
	{name: "hello", arity: -1, alone: true, stranger: true, run: hello},
	{name: "select", arity: 2, steps: selectDB},
	{name: "reset", arity: 1, immediate: true, stranger: true, subscriber: true, ends: true, run: reset},
	{name: "readonly", arity: 1, alone: true, run: func(c *conn, _ [][]byte) { c.readIn(service.Stale) }},
	{name: "readwrite", arity: 1, alone: true, run: func(c *conn, _ [][]byte) { c.readIn(service.Default) }},
	{name: "client", arity: -2, aloneIf: changesConnection, run: client},
}

func ping(c *conn, args [][]byte) {
	subscribed := !c.out.V3 && c.subs.told()
	switch {
	case len(args) <= 2 && subscribed: // as a message, which is all that such clients expect
		args = append(args, nil)
		c.batch.reply(func(w *proto.Writer) {
			w.Array(2)
			w.Text("pong")
			w.Bulk(args[1])
		})
	case len(args) == 1:
		c.batch.reply(func(w *proto.Writer) { w.Simple("PONG") })
	case len(args) == 2:
		c.batch.reply(func(w *proto.Writer) { w.Bulk(args[1]) })
	default:
		c.fail("ERR wrong number of arguments for 'ping' command")
	}
}

func quit(c *conn, _ [][]byte) {
	c.out.closing = true
	c.batch.reply((*proto.Writer).OK)
}

// hello changes the version of the protocol, and tells who answers.
func hello(c *conn, args [][]byte) {
	version := 2
	if c.out.V3 {
		version = 3
	}
	if len(args) > 1 {
		n, ok := integer(args[1])
		switch {
		case !ok:
			c.fail("ERR Protocol version is not an integer or out of range")
			return
		case n != 2 && n != 3:
			c.fail("NOPROTO unsupported protocol version")
			return
		}
		version = int(n)
	}
	name := c.name
	var user, secret []byte
	for i := 2; i < len(args); i++ {
		switch option := strings.ToLower(string(args[i])); {
		case option == "setname" && i+1 < len(args):
			i++
			name = string(args[i])
			if refusal := nameRefusal(name); refusal != "" {
				c.fail(refusal)
				return
			}
		case option == "auth" && i+2 < len(args):
			user, secret = args[i+1], args[i+2]
			i += 2
		default:
			c.fail("ERR Syntax error in HELLO option '" + string(args[i]) + "'")
			return
		}
	}
	if user != nil {
		if text := c.login(user, secret); text != "" {
			c.fail(text)
			return
		}
	}
	c.name = name
	c.speak(version == 3)
	c.batch.reply(func(w *proto.Writer) {
		w.Map(7)
		w.Text("server")
		w.Text("redis")
		w.Text("version")
		w.Text(redisVersion)
		w.Text("proto")
		w.Int(int64(version))
		w.Text("id")
		w.Int(c.id)
		w.Text("mode")
		w.Text("standalone")
		w.Text("role")
		w.Text("master")
		w.Text("modules")
		w.Array(0)
	})
}

// redisVersion is the version of Redis whose commands these are. Clients decide by it what they may send.
const redisVersion = "7.0.15"

const (
	errName     = "ERR Client names cannot contain spaces, newlines or special characters."
	errNameLong = "ERR the name of a client has at most 1024 bytes"

	maxClientNameBytes = 1 << 10
)

// nameRefusal returns why a client may not be called so, or "".
func nameRefusal(name string) string {
	switch {
	case len(name) > maxClientNameBytes:
		return errNameLong
	case strings.ContainsFunc(name, func(r rune) bool { return r < '!' || r > '~' }):
		return errName
	}
	return ""
}

func selectDB(b *batch, args [][]byte) {
	n, ok := integer(args[1])
	switch {
	case !ok:
		b.fail(errNotInteger)
	case n != 0:
		b.fail("ERR DB index is out of range: there is one store, 0")
	default:
		b.reply((*proto.Writer).OK)
	}
}

// reset makes the connection as it was when it began.
func reset(c *conn, _ [][]byte) {
	c.execute()
	c.endTransaction()
	c.subs.leaveAll()
	c.track.off()
	c.subs.stopTelling()
	c.subs.events, c.subs.asked = eventFlags{}, nil // no notifier runs
	c.speak(false)
	c.name, c.to.mode = "", service.Default
	c.to.forget()
	c.changed()
	c.batch.reply(func(w *proto.Writer) { w.Simple("RESET") })
}

// readIn makes what the connection reads from now on be read so.
func (c *conn) readIn(m service.Mode) {
	c.to.mode = m
	c.batch.reply((*proto.Writer).OK)
}

// changesConnection reports whether CLIENT has these arguments to change the connection. A transaction that is not
// applied must change nothing, so none has such a command.
func changesConnection(args [][]byte) bool {
	if len(args) < 2 {
		return false
	}
	sub := strings.ToLower(string(args[1]))
	return sub == "setname" || sub == "tracking"
}

// client answers the subcommands of CLIENT that are about this connection.
func client(c *conn, args [][]byte) {
	sub := strings.ToLower(string(args[1]))
	switch {
	case sub == "id" && len(args) == 2:
		c.batch.reply(func(w *proto.Writer) { w.Int(c.id) })
	case sub == "getname" && len(args) == 2:
		c.batch.reply(func(w *proto.Writer) {
			if c.name == "" {
				w.Null()
			} else {
				w.Text(c.name)
			}
		})
	case sub == "setname" && len(args) == 3:
		if refusal := nameRefusal(string(args[2])); refusal != "" {
			c.fail(refusal)
			return
		}
		c.name = string(args[2])
		c.batch.reply((*proto.Writer).OK)
	case sub == "tracking" && len(args) >= 3:
		c.setTracking(args[2:])
	case sub == "setinfo" && len(args) == 4, sub == "reply" && len(args) == 3 && strings.EqualFold(string(args[2]), "on"),
		(sub == "no-evict" || sub == "no-touch") && len(args) == 3:
		c.batch.reply((*proto.Writer).OK)
	case (sub == "info" || sub == "list") && len(args) == 2:
		c.batch.reply(func(w *proto.Writer) { w.Verbatim(c.describe() + "\n") })
	default:
		c.fail("ERR unknown subcommand or wrong number of arguments for '" + string(args[1]) + "'. Try CLIENT HELP.")
	}
}

// describe describes the connection as CLIENT LIST does.
func (c *conn) describe() string {
	version := 2
	if c.out.V3 {
		version = 3
	}
	return "id=" + strconv.FormatInt(c.id, 10) + " addr=" + c.net.RemoteAddr().String() + " laddr=" +
		c.net.LocalAddr().String() + " name=" + c.name + " db=0 user=" + c.to.user() + " resp=" + strconv.Itoa(version)
}
