package multipaxos

import (
	"bytes"
	"reflect"
	"testing"

	"tenure/internal/ballot"
)

// Searches take messages for the same one by these bytes: no two that differ in any field may have the same.
func TestMessagesThatDifferHaveDifferentStates(t *testing.T) {
	b := ballot.Ballot{Counter: 1, Restart: 2, Node: 3, Nonce: 4}
	base := func() *Message {
		return &Message{Kind: 1, From: 2, To: 3, Ballot: b, Promised: b, Slot: 4, Through: 5, Chosen: 6, Truncated: 7, Folded: 8,
			Round: 9, Membership: 10, Entries: []Entry{{Slot: 11, Ballot: b, Value: []byte("v")}, {Slot: 12, Ballot: b, Value: []byte("w")}}}
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
