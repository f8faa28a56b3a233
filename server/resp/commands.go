package resp

import (
	"fmt"
	"slices"
	"strings"
)

// command is a row of the table of commands.
type command struct {
	name string
	// arity is the number of arguments, the name included; -n: at least n.
	arity int
	// immediate commands are not queued by a transaction.
	immediate bool
	// alone commands carry themselves out, behind the batch so far. A transaction cannot have them.
	alone bool
	// aloneIf reports whether these arguments make the command one of the alone, which run carries out; nil: none do.
	aloneIf func(args [][]byte) bool
	// acts commands change something: the audit log has them also when they are refused before they run.
	acts bool
	// reads reports whether these arguments have one of the acts commands change nothing; nil: none do.
	reads func(args [][]byte) bool
	// stranger commands are answered for any client, also under a token that no longer exists.
	stranger bool
	// ends commands begin a transaction or end what was begun. They are never refused for load or for the rate: what a
	// refusal would leave open is worse than what they cost.
	ends bool
	// releases reports whether these arguments have the command give back what others wait for: it may take a reserve.
	// There are two arguments at least. Nil: never.
	releases func(args [][]byte) bool
	// refused is told of a refusal, if it matters to the commands behind this one, and returns what is replied. The
	// arguments are nil if they were too large. Nil: text is replied.
	refused func(c *conn, args [][]byte, text string) string
	// subscriber commands are possible while a connection of RESP2 is subscribed to something.
	subscriber bool
	// steps adds steps, or a known reply, to the batch, and uses nothing else of the connection. So a transaction can find
	// the needs of the command. Nil: run, as for the alone.
	steps func(b *batch, args [][]byte)
	run   func(c *conn, args [][]byte)
}

// do runs the command.
func (cmd *command) do(c *conn, args [][]byte) {
	if cmd.steps != nil && !cmd.isAlone(args) {
		cmd.steps(&c.batch, args)
	} else {
		cmd.run(c, args)
	}
}

// changes reports whether the command, with these arguments, is to change something. The arguments are nil if they were
// too large.
func (cmd *command) changes(args [][]byte) bool {
	return cmd.acts && (cmd.reads == nil || args == nil || !cmd.reads(args))
}

// takes reports whether the command takes n arguments.
func (cmd *command) takes(n int) bool {
	if cmd.arity < 0 {
		return n >= -cmd.arity
	}
	return n == cmd.arity
}

// isAlone reports whether the command, with these arguments, carries itself out.
func (cmd *command) isAlone(args [][]byte) bool {
	return cmd.alone || cmd.aloneIf != nil && cmd.aloneIf(args)
}

// table is all commands by their names in lower case.
var table map[string]*command

func init() {
	table = make(map[string]*command)
	for _, list := range [][]command{stringCommands, keyCommands, expireCommands, listingCommands, connectionCommands,
		transactionCommands, infoCommands, scriptCommands, tenureCommands,
		subscriptionCommands, clusterCommands, loginCommands} {
		for i := range list {
			table[list[i].name] = &list[i]
		}
	}
}

const longestName = 32

// lookup returns the command of that name, in any case; nil if there is none.
func lookup(name []byte) *command {
	if len(name) > longestName {
		return nil
	}
	var lower [longestName]byte
	for i, b := range name {
		if b >= 'A' && b <= 'Z' {
			b += 'a' - 'A'
		}
		lower[i] = b
	}
	return table[string(lower[:len(name)])]
}

// unknownCommand is Redis's answer to a command that it does not know, with the reason for one that Redis knows.
func unknownCommand(args [][]byte) string {
	name := string(args[0][:min(len(args[0]), 128)])
	if kind := kindOf(strings.ToLower(name)); kind != "" {
		return fmt.Sprintf("ERR unknown command '%s': Tenure keeps strings, and no %s", name, kind)
	}
	text := fmt.Sprintf("ERR unknown command '%s', with args beginning with: ", name)
	for _, a := range args[1:] {
		if len(text) > 256 {
			break
		}
		text += fmt.Sprintf("'%s' ", a[:min(len(a), 128)])
	}
	return text
}

// kindOf returns what values the commands of that name are for, if Tenure has none such.
func kindOf(name string) string {
	for kind, names := range otherKinds {
		if slices.Contains(strings.Fields(names), name) {
			return kind
		}
	}
	return ""
}

// otherKinds is the commands on values of other kinds than strings.
var otherKinds = map[string]string{
	"lists": "lpush rpush lpushx rpushx lpop rpop llen lrange lindex lset lrem ltrim linsert lpos lmove rpoplpush blpop " +
		"brpop blmove brpoplpush lmpop blmpop",
	"hashes": "hset hsetnx hget hmset hmget hgetall hdel hlen hkeys hvals hexists hincrby hincrbyfloat hstrlen hscan " +
		"hrandfield",
	"sets": "sadd srem smembers sismember smismember scard spop srandmember sinter sinterstore sunion sunionstore sdiff " +
		"sdiffstore smove sscan sintercard",
	"sorted sets": "zadd zrem zscore zincrby zrange zrangestore zrevrange zrangebyscore zrevrangebyscore zrangebylex " +
		"zrevrangebylex zcard zcount zlexcount zrank zrevrank zremrangebyrank zremrangebyscore zremrangebylex zscan " +
		"zpopmin zpopmax bzpopmin bzpopmax zunion zunionstore zinter zinterstore zdiff zdiffstore zmscore zrandmember " +
		"zmpop bzmpop zintercard geoadd geopos geodist geohash georadius geosearch geosearchstore",
	"streams":      "xadd xlen xrange xrevrange xread xreadgroup xgroup xack xclaim xautoclaim xdel xtrim xinfo xpending xsetid",
	"bitmaps":      "setbit getbit bitcount bitpos bitop bitfield bitfield_ro",
	"HyperLogLogs": "pfadd pfcount pfmerge pfdebug pfselftest",
}
