package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tenure/client"
	"tenure/cmd/kvctl/internal/output"
)

func newDrain(a *app) *cobra.Command {
	var off, force bool
	cmd := &cobra.Command{
		Use:   "drain NODE",
		Short: "Prepare a node for maintenance",
		Long: "Have a node hand mastership over, now and whenever it comes to it, and have its /health/ready say no,\n" +
			"so that load balancers send it no new clients. It follows the log and votes as before, so the cluster\n" +
			"survives no fewer failures until it is stopped. This is refused, unless --force is given, if no other\n" +
			"voter can be master, or if too few voters are alive without the node for anything to be written.\n" +
			"--off ends a drain, and so does a restart of the node. NODE is a number or a name.",
		Example: "  kvctl drain 2\n  kvctl drain 2 --off",
		Args:    arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if off && force {
				return usage("kvctl drain: --force does not go with --off")
			}
			return a.write(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				if off {
					return a.endDrain(ctx, c, args[0])
				}
				return a.drain(ctx, c, args[0], force)
			})
		},
	}
	cmd.Flags().BoolVar(&off, "off", false, "end it: the node takes clients and can become master again")
	cmd.Flags().BoolVar(&force, "force", false,
		"drain the node though nothing could be written then, or once it is stopped")
	return cmd
}

// drained is what drain prints with --json.
type drained struct {
	Node     uint64 `json:"node"`
	Draining bool   `json:"draining"`
	// Problem says what cannot be done while the node is drained or stopped.
	Problem string `json:"problem,omitempty"`
}

// drain drains the member that arg names. Without force it is refused if writes would stop.
func (a *app) drain(ctx context.Context, c *client.Client, arg string, force bool) error {
	l, err := listWithDrains(ctx, c)
	if err != nil {
		return err
	}
	m, err := memberIn(l, arg)
	if err != nil {
		return err
	}
	without := votersWithout(l, m.Node)
	loss := without.loss(m)
	if loss != "" && !force {
		return fmt.Errorf("%s: nothing was changed; --force drains it all the same", loss)
	}
	if err := c.Members().Drain(ctx, m.Node, false); err != nil {
		return err
	}
	text := "it can be stopped" + without.atOnce()
	if loss != "" {
		text = loss
	}
	return a.printf(drained{m.Node, true, loss}, "node %d takes no new clients and does not become master; %s\n", m.Node,
		text)
}

func (a *app) endDrain(ctx context.Context, c *client.Client, arg string) error {
	m, err := findMember(ctx, c, arg)
	if err != nil {
		return err
	}
	if err := c.Members().Drain(ctx, m.Node, true); err != nil {
		return err
	}
	return a.printf(drained{Node: m.Node}, "node %d takes clients again\n", m.Node)
}

// listWithDrains lists the members. That a member is drained is known to it alone, so each that the listing node hears
// is asked.
func listWithDrains(ctx context.Context, c *client.Client) (client.MemberList, error) {
	l, err := c.Members().List(ctx)
	if err != nil {
		return l, err
	}
	silent := map[string]bool{}
	for _, m := range l.Members {
		silent[m.ClientAddress] = !m.Connected
	}
	s := surveyOf(slices.DeleteFunc(c.Endpoints(), func(e string) bool { return silent[hostOf(e)] }))
	s.ask(ctx, c, func(nodeView) bool { return true })
	s.markDrained(l)
	return l, nil
}

// markDrained marks those members of l as drained that say so themselves.
func (s survey) markDrained(l client.MemberList) {
	for _, n := range s {
		i := slices.IndexFunc(l.Members, func(m client.Member) bool { return m.Node == n.status.Node })
		if n.answers() && n.status.Cluster == l.Cluster && i >= 0 {
			l.Members[i].Draining = n.status.Draining
		}
	}
}

// remaining are the voters besides the one that is to be drained and stopped.
type remaining struct {
	of      int      // voters in all
	able    []uint64 // alive and not drained
	drained []uint64
	silent  []uint64
}

// votersWithout returns the voters of l other than that node.
func votersWithout(l client.MemberList, node uint64) remaining {
	var r remaining
	for _, m := range l.Members {
		if !m.Voter {
			continue
		}
		r.of++
		switch {
		case m.Node == node:
		case !m.Connected:
			r.silent = append(r.silent, m.Node)
		case m.Draining:
			r.drained = append(r.drained, m.Node)
		default:
			r.able = append(r.able, m.Node)
		}
	}
	return r
}

// majority returns how many voters must be alive for anything to be written.
func (r remaining) majority() int { return r.of/2 + 1 }

// loss says what is lost by draining m and stopping it, or is empty.
func (r remaining) loss(m client.Member) string {
	alive := len(r.able) + len(r.drained)
	switch {
	case !m.Voter:
		return ""
	case len(r.able) == 0 && r.of > 1:
		return fmt.Sprintf("with node %d drained no voter can be master, and nothing can be written until a drain ends%s",
			m.Node, r.others())
	case alive < r.majority():
		return fmt.Sprintf("with node %d stopped %d of %s would be alive, and writes need %d: nothing could be written "+
			"until more are back%s", m.Node, alive, output.Plural(uint64(r.of), "voter"), r.majority(), r.others())
	}
	return ""
}

// others says in parentheses which voters do not count, and why.
func (r remaining) others() string {
	var parts []string
	if len(r.drained) > 0 {
		parts = append(parts, nodesText(r.drained, "is", "are")+" drained too")
	}
	if len(r.silent) > 0 {
		parts = append(parts, nodesText(r.silent, "is", "are")+" not heard")
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

// atOnce says that the drained voters cannot all be stopped at the same time, if that is so.
func (r remaining) atOnce() string {
	if len(r.drained) == 0 || len(r.able) >= r.majority() {
		return ""
	}
	return fmt.Sprintf(", but not together with %s: %d of %d voters must be alive for anything to be written",
		nodesText(r.drained, "(drained too)", "(drained too)"), r.majority(), r.of)
}

// nodesText names nodes and says one of the two of them, as in "node 1 is" and "nodes 1 and 3 are".
func nodesText(ids []uint64, one, more string) string {
	texts := make([]string, len(ids))
	for i, id := range ids {
		texts[i] = fmt.Sprint(id)
	}
	if len(ids) == 1 {
		return "node " + texts[0] + " " + one
	}
	last := len(ids) - 1
	return "nodes " + strings.Join(texts[:last], ", ") + " and " + texts[last] + " " + more
}
