package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"tenure/client"
	"tenure/internal/drain"
)

func newDrain(a *app) *cobra.Command {
	var off, force, self bool
	cmd := &cobra.Command{
		Use:   "drain NODE|--self",
		Short: "Prepare a node for maintenance",
		Long: "Have a node hand mastership over, now and whenever it comes to it, and have its /health/ready say no,\n" +
			"so that load balancers send it no new clients. It follows the log and votes as before, so the cluster\n" +
			"survives no fewer failures until it is stopped. This is refused, unless --force is given, if no other\n" +
			"voter can be master, or if too few voters are alive without the node for anything to be written.\n" +
			"--off ends a drain, and so does a restart of the node. NODE is a number or a name.",
		Example: "  kvctl drain 2\n  kvctl drain 2 --off\n  kvctl --endpoints localhost:8500 drain --self",
		Args:    arguments(0, 1),

		ValidArgsFunction: a.completeMembers,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case off && force:
				return usage("kvctl drain: --force does not go with --off")
			case self == (len(args) > 0):
				return usage("kvctl drain: give a node, or --self")
			case self && len(a.endpoints) != 1:
				return usage("kvctl drain: --self is the node at the endpoint; give its endpoint only, with --endpoints")
			}
			return a.write(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				if self {
					s, err := c.Nodes().StatusOf(ctx, a.endpoints[0])
					if err != nil {
						return err
					}
					args = []string{strconv.FormatUint(s.Node, 10)}
				}
				if off {
					return a.endDrain(ctx, c, args[0])
				}
				return a.drain(ctx, c, args[0], force)
			})
		},
	}
	cmd.Flags().BoolVar(&self, "self", false, "the node at the only endpoint, as the hook before a container stops has it")
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
	l, _, err := listWithDrains(ctx, c)
	if err != nil {
		return err
	}
	m, err := memberIn(l, arg)
	if err != nil {
		return err
	}
	without := drain.Without(l, m.Node)
	loss := without.Loss(m)
	switch {
	case !m.Connected:
		err = fmt.Errorf("node %d is not heard: if it is stopping or stopped, that is as good as drained: nothing was changed",
			m.Node)
	case loss == "":
		// The node looks again, once others can see that it drains.
		err = c.Members().Drain(ctx, m.Node, false)
	case force:
		err = c.Members().ForceDrain(ctx, m.Node)
	default:
		err = fmt.Errorf("%s: nothing was changed; --force drains it all the same", loss)
	}
	if err != nil {
		return err
	}
	text, problem := whatCanStop(ctx, c, m)
	role := "does not become master"
	if m.Voter && without.Voters() == 1 {
		role = "stays master, being the only voter"
	}
	return a.printf(drained{m.Node, true, problem}, "node %d takes no new clients and %s; %s\n", m.Node, role, text)
}

// whatCanStop says whether m, which is drained now, can be stopped, and what problem there is, if any. It asks the
// other members again: of two drains at the same time, the later question sees both.
func whatCanStop(ctx context.Context, c *client.Client, m client.Member) (text, problem string) {
	l, unknown, err := listWithDrains(ctx, c)
	if err != nil {
		problem = fmt.Sprintf("whether it can be stopped could not be found out: %v", err)
		return problem, problem
	}
	without := drain.Without(l, m.Node, unknown...)
	if loss := without.Loss(m); loss != "" {
		return loss, loss
	}
	return "it can be stopped" + without.AtOnce(), ""
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

// listWithDrains lists the members. Only a member itself knows whether it is drained, so listWithDrains asks every
// member that the listing node hears. unknown are those without an answer.
func listWithDrains(ctx context.Context, c *client.Client) (l client.MemberList, unknown []uint64, err error) {
	if l, err = c.Members().List(ctx); err != nil {
		return l, nil, err
	}
	silent := map[string]bool{}
	for _, m := range l.Members {
		silent[m.ClientAddress] = !m.Connected
	}
	s := surveyOf(slices.DeleteFunc(c.Endpoints(), func(e string) bool { return silent[hostOf(e)] }))
	s.ask(ctx, c, func(nodeView) bool { return true })
	s.markDrained(l)
	for _, m := range l.Members {
		told := func(n nodeView) bool {
			return n.answers() && n.status.Cluster == l.Cluster && n.status.Node == m.Node
		}
		if m.Connected && !slices.ContainsFunc(s, told) {
			unknown = append(unknown, m.Node)
		}
	}
	return l, unknown, nil
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
