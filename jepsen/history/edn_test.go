package history

import (
	"strings"
	"testing"
	"time"
)

func TestEDN(t *testing.T) {
	ops := []Op{
		{Client: 0, Kind: Put, Key: "k", Value: `a"b`, Result: 7, Outcome: OK, Call: 1, Return: 4},
		{Client: 1, Kind: CAS, Key: "k", Value: "c", Index: 7, Outcome: Info, Error: "silent", Call: 2, Return: Forever},
		{Client: 1, Kind: Get, Key: "k", Value: "c", Index: 8, Outcome: OK, Call: 5, Return: 6},
		{Client: 0, Kind: List, Key: "", Entries: []Entry{{Key: "k", Value: "c", Modify: 8}}, Index: 8, Outcome: OK, Call: 6, Return: 9},
	}
	var b strings.Builder
	if err := WriteEDN(&b, ops, []Fault{{Name: "kill", Nodes: []int{1, 3}, From: 3, To: 7 * time.Nanosecond, Seen: "gone"}}); err != nil {
		t.Fatal(err)
	}
	want := `{:process 0, :type :invoke, :f :put, :value ["k" "a\"b"], :time 1, :index 0}
{:process 1, :type :invoke, :f :cas, :value ["k" [7 "c"]], :time 2, :index 1}
{:process :nemesis, :type :info, :f :kill, :value [1 3], :time 3, :index 2}
{:process 0, :type :ok, :f :put, :value ["k" "a\"b"], :revision 7, :time 4, :index 3}
{:process 3, :type :invoke, :f :get, :value ["k" nil], :time 5, :index 4}
{:process 0, :type :invoke, :f :list, :value ["" nil], :time 6, :index 5}
{:process 3, :type :ok, :f :get, :value ["k" "c"], :revision 8, :time 6, :index 6}
{:process :nemesis, :type :info, :f :kill-end, :value "gone", :time 7, :index 7}
{:process 1, :type :info, :f :cas, :value ["k" [7 "c"]], :error "silent", :time 9, :index 8}
{:process 0, :type :ok, :f :list, :value ["" [["k" "c" 8]]], :revision 8, :time 9, :index 9}
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}
