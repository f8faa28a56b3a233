package cluster

import (
	"slices"
	"strings"
	"testing"
)

func TestPlaces(t *testing.T) {
	c, err := New(Config{Dir: t.TempDir(), Nodes: 3, Spares: 2, Flags: []string{"--lease-time", "1s"}})
	if err != nil {
		t.Fatal(err)
	}
	places := func(nodes []*Node) (out []int) {
		for _, n := range nodes {
			out = append(out, n.ID)
		}
		return out
	}
	if !slices.Equal(places(c.Nodes()), []int{1, 2, 3}) || !slices.Equal(places(c.Free()), []int{4, 5}) ||
		len(c.Endpoints()) != 5 {
		t.Fatal(places(c.Nodes()), places(c.Free()), c.Endpoints())
	}
	if args := strings.Join(c.Node(3).Args, " "); !strings.HasPrefix(args, "--id 3 --cluster 1=") ||
		strings.Contains(args, "4=") || !strings.HasSuffix(args, "--lease-time 1s") {
		t.Error(args)
	}
	n := c.Node(4)
	c.Prepare(n, c.Node(2), "place-4-1", "--non-voter")
	want := "--join " + c.Node(2).Peer + " --advertise-peer " + n.Peer + " --node-name place-4-1 --non-voter --data " + n.Data +
		" --client " + n.Client + " --peer " + n.Peer + " --lease-time 1s"
	if args := strings.Join(n.Args, " "); args != want || n.Name() != "place-4-1" || n.Member() != 0 {
		t.Errorf("%s %s %d\nwant %s", args, n.Name(), n.Member(), want)
	}
	c.Enter(n, 7)
	c.Leave(c.Node(1))
	if !slices.Equal(places(c.Nodes()), []int{2, 3, 4}) || !slices.Equal(places(c.Free()), []int{1, 5}) || n.Member() != 7 {
		t.Error(places(c.Nodes()), places(c.Free()), n.Member())
	}
}
