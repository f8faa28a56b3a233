package resp

import (
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"tenure/server/resp/glob"
	"tenure/server/resp/proto"
)

// The commands that tell clients what server this is.
var infoCommands = []command{
	{name: "info", arity: -1, alone: true, run: info},
	{name: "config", arity: -2, aloneIf: isConfigSet, run: config},
	{name: "command", arity: -1, run: commandCommand},
	{name: "function", arity: -2, run: function},
	{name: "time", arity: 1, run: nowTime},
}

// parameter is one that CONFIG GET shows. Clients and tools ask for some of them; notifyEvents alone can be changed,
// for the connection.
type parameter struct{ name, value string }

// parameters returns them as this connection has them.
func (c *conn) parameters() []parameter {
	cfg := c.cfg
	return []parameter{
		{"appendonly", "yes"}, {"appendfsync", "always"}, {"save", ""}, {"databases", "1"}, {"maxmemory", "0"},
		{"maxmemory-policy", "noeviction"}, {"maxclients", fmt.Sprint(cfg.maxClients())},
		{"proto-max-bulk-len", fmt.Sprint(cfg.MaxValueBytes)}, {"timeout", "0"}, {"tcp-keepalive", "300"},
		{notifyEvents, c.subs.events.text()},
	}
}

// maxConfigPatterns bounds the patterns of one CONFIG GET. There are far fewer parameters.
const maxConfigPatterns = 128

// isConfigSet reports whether CONFIG has these arguments to change what the connection is told.
func isConfigSet(args [][]byte) bool {
	return len(args) > 1 && strings.EqualFold(string(args[1]), "set")
}

func config(c *conn, args [][]byte) {
	switch sub := strings.ToLower(string(args[1])); {
	case sub == "get" && len(args)-2 > maxConfigPatterns:
		c.fail(fmt.Sprintf("ERR CONFIG GET takes at most %d patterns", maxConfigPatterns))
	case sub == "get" && len(args) > 2:
		var found []parameter
		for _, p := range c.parameters() {
			if slices.ContainsFunc(args[2:], func(a []byte) bool { return glob.Match(strings.ToLower(string(a)), p.name) }) {
				found = append(found, p)
			}
		}
		c.batch.reply(func(w *proto.Writer) {
			w.Map(len(found))
			for _, p := range found {
				w.Text(p.name)
				w.Text(p.value)
			}
		})
	case sub == "set" && len(args) > 3 && len(args)%2 == 0:
		c.setParameters(args[2:])
	case sub == "resetstat" && len(args) == 2:
		c.batch.reply((*proto.Writer).OK)
	default:
		c.fail("ERR unknown subcommand or wrong number of arguments for '" + string(args[1]) + "'. Try CONFIG HELP.")
	}
}

// setParameters changes notifyEvents, and takes values that other parameters have anyway: those are flags of the node.
// It changes nothing if it refuses one of the pairs.
func (c *conn) setParameters(pairs [][]byte) {
	events := c.subs.events
	for i := 0; i < len(pairs); i += 2 {
		name := strings.ToLower(string(pairs[i]))
		at := slices.IndexFunc(c.parameters(), func(p parameter) bool { return p.name == name })
		switch {
		case at < 0:
			c.fail("ERR Unknown option or number of arguments for CONFIG SET - '" + name + "'")
			return
		case name == notifyEvents && events.parse(string(pairs[i+1])):
		case c.parameters()[at].value != string(pairs[i+1]):
			c.fail("ERR CONFIG SET failed - " + name + " is fixed here: settings are flags of kvnode")
			return
		}
	}
	c.subs.change(events)
	c.batch.reply((*proto.Writer).OK)
}

// commandCommand answers what clients ask about commands.
func commandCommand(c *conn, args [][]byte) {
	sub := "all"
	if len(args) > 1 {
		sub = strings.ToLower(string(args[1]))
	}
	switch sub {
	case "count":
		c.batch.reply(func(w *proto.Writer) { w.Int(int64(len(table))) })
	case "all":
		c.batch.reply(func(w *proto.Writer) { describeCommands(w, sortedNames()) })
	case "info":
		names := make([]string, 0, len(args)-2)
		for _, a := range args[2:] {
			names = append(names, strings.ToLower(string(a)))
		}
		if len(names) == 0 {
			names = sortedNames()
		}
		c.batch.reply(func(w *proto.Writer) { describeCommands(w, names) })
	case "docs":
		c.batch.reply(func(w *proto.Writer) { w.Map(0) })
	case "list":
		c.batch.reply(func(w *proto.Writer) { texts(w, sortedNames()) })
	default:
		c.fail("ERR unknown subcommand or wrong number of arguments for '" + string(args[1]) + "'. Try COMMAND HELP.")
	}
}

func sortedNames() []string { return slices.Sorted(maps.Keys(table)) }

// describeCommands replies name and arity, in the form of Redis before 7, without flags and places of keys.
func describeCommands(w *proto.Writer, names []string) {
	w.Array(len(names))
	for _, name := range names {
		cmd := table[name]
		if cmd == nil {
			w.NullArray()
			continue
		}
		w.Array(6)
		w.Text(cmd.name)
		w.Int(int64(cmd.arity))
		w.Set(0)
		for range 3 {
			w.Int(0)
		}
	}
}

// function answers FUNCTION FLUSH, which tools send to empty a server: there are no functions.
func function(c *conn, args [][]byte) {
	switch strings.ToLower(string(args[1])) {
	case "flush":
		c.batch.reply((*proto.Writer).OK)
	case "list":
		c.batch.reply(func(w *proto.Writer) { w.Array(0) })
	default:
		c.fail("ERR there are no functions here: of scripts, those of known locks are carried out")
	}
}

// port returns the port of an address.
func port(a net.Addr) string {
	_, port, err := net.SplitHostPort(a.String())
	if err != nil {
		return "0"
	}
	return port
}

func nowTime(c *conn, _ [][]byte) {
	now := time.Now()
	c.batch.reply(func(w *proto.Writer) {
		texts(w, []string{strconv.FormatInt(now.Unix(), 10), strconv.Itoa(now.Nanosecond() / 1000)})
	})
}
