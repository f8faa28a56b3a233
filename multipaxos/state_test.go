package multipaxos

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
	"unsafe"

	"tenure/internal/ballot"
	"tenure/internal/quorum"
)

// Searches take messages for the same one by these bytes: no two that differ in any field may have the same.
func TestMessagesThatDifferHaveDifferentStates(t *testing.T) {
	b := ballot.Ballot{Counter: 1, Restart: 2, Node: 3, Nonce: 4}
	base := func() *Message {
		return &Message{Kind: 1, From: 2, To: 3, Ballot: b, Promised: b, Slot: 4, Through: 5, Chosen: 6, Truncated: 7,
			Round: 9, Membership: 10, Entries: []Entry{{Slot: 11, Ballot: b, Value: []byte("v")},
				{Slot: 12, Ballot: b, Value: []byte("w")}}}
	}
	want := base().AppendState(nil)
	changes := 0
	var walk func(path string, pick func(*Message) reflect.Value)
	walk = func(path string, pick func(*Message) reflect.Value) {
		m := base()
		v := pick(m)
		switch v.Kind() {
		case reflect.Struct:
			for i := range v.NumField() {
				walk(path+"."+v.Type().Field(i).Name, func(m *Message) reflect.Value { return pick(m).Field(i) })
			}
			return
		case reflect.Slice:
			for i := range v.Len() {
				walk(path+"[]", func(m *Message) reflect.Value { return pick(m).Index(i) })
			}
			v.Set(v.Slice(0, v.Len()-1))
		case reflect.Bool:
			v.SetBool(!v.Bool())
		default:
			v.SetUint(v.Uint() + 100)
		}
		changes++
		if bytes.Equal(m.AppendState(nil), want) {
			t.Errorf("%s does not count", path)
		}
	}
	walk("Message", func(m *Message) reflect.Value { return reflect.ValueOf(m).Elem() })
	if changes < 30 {
		t.Fatalf("only %d changes were tried", changes)
	}
}

// A search visits a state once: whatever decides what a node does next must be in its state. Each number and switch of
// a node is changed here by itself; those that do not count are named with the reason.
func TestAllThatDecidesIsInTheState(t *testing.T) {
	without := map[string]string{
		"Core.ignored":                       "it is only shown",
		"Core.acceptor.ignored":              "it is only shown",
		"Core.leader.ignored":                "it is only shown",
		"Core.acceptor.log.bytes":            "the sum of the entries' bytes",
		"Core.acceptor.writes.open.Seq":      "it is Core.acceptor.writes.seq",
		"Core.acceptor.writes.open.Chosen":   "it is Core.acceptor.writes.chosen, or 0",
		"Core.acceptor.writes.owes.slots":    "the sum of what is owed",
		"Core.acceptor.writes.owes.bytes":    "the sum of what is owed",
		"Core.acceptor.writes.owes.open.seq": "it is Core.acceptor.writes.seq",
		"Core.out.durable":                   "it is Core.acceptor.writes.durable",
		"Core.out.self":                      "it is in the configuration",
		"Core.leader.pieces":                 "no transition of the log reads it (M6)",
		"Core.leader.gone":                   "no transition of the log reads it (M6)",
	}
	for _, of := range []string{"durable", "followed.seq", "followed.slot", "newest.seq", "newest.slot"} {
		without["Core.acceptor.writes.marks."+of] = "no transition of the log reads it (MarkedThrough)"
	}
	cores := map[string]func() *Core{
		"leader": func() *Core {
			s := leading(t, 3)
			s.fill(2)
			s.propose("a", "b")
			return s.Core
		},
	}
	for name, make := range cores {
		want := string(make().AppendState(nil))
		var walk func(path string, pick func(*Core) reflect.Value)
		walk = func(path string, pick func(*Core) reflect.Value) {
			c := make()
			v := pick(c)
			v = reflect.NewAt(v.Type(), unsafe.Pointer(v.UnsafeAddr())).Elem()
			if set, ok := v.Addr().Interface().(*quorum.Set); ok {
				set.Add(100)
				if string(c.AppendState(nil)) == want {
					t.Errorf("%s: %s does not count", name, path)
				}
				return
			}
			switch v.Kind() {
			case reflect.Struct:
				if strings.HasPrefix(v.Type().Name(), "ring") || v.Type() == reflect.TypeFor[Config]() {
					return // where a ring begins decides nothing, and a node's configuration does not change
				}
				for i := range v.NumField() {
					walk(path+"."+v.Type().Field(i).Name, func(c *Core) reflect.Value { return pick(c).Field(i) })
				}
				return
			case reflect.Bool:
				v.SetBool(!v.Bool())
			case reflect.Int, reflect.Int64:
				v.SetInt(v.Int() + 1000)
			case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
				v.SetUint(v.Uint() + 100)
			default:
				return
			}
			if string(c.AppendState(nil)) == want && without[path] == "" {
				t.Errorf("%s: %s does not count", name, path)
			}
		}
		walk("Core", func(c *Core) reflect.Value { return reflect.ValueOf(c).Elem() })
	}
}
