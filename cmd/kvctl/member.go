package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tenure/client"
	"tenure/cmd/kvctl/internal/output"
	"tenure/internal/shown"
)

func newMember(a *app) *cobra.Command {
	return group(&cobra.Command{
		Use:     "member",
		Aliases: []string{"members"},
		Short:   "Show and change the members of the cluster",
		Long: "Show and change the members of the cluster. A change is one operation with an id. The cluster goes\n" +
			"on with it by itself, also if kvctl is interrupted or the master changes, and carries out one at a\n" +
			"time. Every command says first what will be done and which failures the cluster survives before,\n" +
			"meanwhile and after; with --dry-run it stops there. Given the same --operation again, a command\n" +
			"changes nothing twice, and waits for what it has begun.",
	}, newMemberList(a), newMemberAdd(a), newMemberRemove(a), newMemberPromote(a), newMemberReplace(a), newMemberUpdate(a),
		newMemberReadmit(a), newMemberCancel(a))
}

func newMemberList(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List the members, and the changes of them",
		Long: "List the members as a node knows them, and the last changes. HEARD is how long ago that node has\n" +
			"heard from the member, LAG how many chosen slots the member has not applied yet. Below the table are\n" +
			"the names of removed members: with TLS no node comes back with the certificate of one of them.",
		Args: arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := a.noReadMode(); err != nil {
				return err
			}
			return a.call(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				l, _, err := listWithDrains(ctx, c)
				if err != nil {
					return err
				}
				return a.print(l, func(w io.Writer) error { return writeMembers(w, l) })
			})
		},
	}
}

// writeMembers writes a list of members for people.
func writeMembers(w io.Writer, l client.MemberList) error {
	var rows [][]string
	for _, m := range l.Members {
		heard := "never"
		switch {
		case m.Node == l.Node:
			heard = "-"
		case m.LastHeardMS >= 0:
			heard = output.Duration(time.Duration(m.LastHeardMS) * time.Millisecond)
		}
		rows = append(rows, []string{strconv.FormatUint(m.Node, 10), shown.Line(m.Name), roleOf(m, l), orDash(m.PeerAddress),
			orDash(m.ClientAddress), heard, strconv.FormatUint(m.Applied, 10), strconv.FormatUint(m.Lag, 10)})
	}
	if err := table(w, []string{"NODE", "NAME", "ROLE", "PEER", "CLIENT", "HEARD", "APPLIED", "LAG"}, rows); err != nil {
		return err
	}
	notes := memberNotes(l)
	if note, ok := unjoinable(l); ok {
		notes = append(notes, note)
	}
	if len(l.Removed) > 0 {
		notes = append(notes, shown.Line("removed: "+strings.Join(l.Removed, ", ")))
	}
	notes = append(notes, endedNotes(l)...)
	if l.Master == 0 && l.Node != 0 {
		notes = append(notes, fmt.Sprintf("node %d knows no master: the members may have changed since it knew one", l.Node))
	}
	if len(notes) == 0 {
		return nil
	}
	_, err := fmt.Fprintf(w, "\n%s\n", strings.Join(notes, "\n"))
	return err
}

// endedShown is how many ended operations are shown to people.
const endedShown = 5

// endedNotes returns lines about the last operations that have ended.
func endedNotes(l client.MemberList) []string {
	var notes []string
	for _, o := range l.Operations {
		if o.State != client.OperationRunning {
			notes = append(notes, endedText(o))
		}
	}
	if n := len(notes) - endedShown; n > 0 {
		notes[n-1] = fmt.Sprintf("%s before these: see --json", output.Plural(uint64(n), "operation"))
		notes = notes[n-1:]
	}
	return notes
}

// roleOf returns what a member is, in a word or two.
func roleOf(m client.Member, l client.MemberList) string {
	role := "voter"
	switch {
	case m.Node == l.Master:
		role = "master"
	case m.Spare:
		role = "spare"
	case !m.Voter:
		role = "non-voter"
	}
	if m.Draining {
		role += ", draining"
	}
	return role
}

// unjoinable says that the answering node listens for no other nodes, and what to do; ok is false if it does listen.
func unjoinable(l client.MemberList) (note string, ok bool) {
	i := slices.IndexFunc(l.Members, func(m client.Member) bool { return m.Node == l.Node && m.PeerAddress == "" })
	if i < 0 {
		return "", false
	}
	return fmt.Sprintf("node %d listens for no other nodes, so none can join: start it again with --peer HOST:PORT", l.Node),
		true
}

// memberNotes returns lines about what is under way.
func memberNotes(l client.MemberList) []string {
	var notes []string
	for _, o := range l.Operations {
		if o.State == client.OperationRunning {
			notes = append(notes, fmt.Sprintf("operation %s, %s: %s", o.ID, changeText(o), stepText(o)))
		}
	}
	for _, m := range l.Members {
		if m.Snapshot != nil {
			notes = append(notes, fmt.Sprintf("node %d %s", m.Node, snapshotText(*m.Snapshot)))
		}
	}
	return notes
}

// changeText returns what an operation does, as in "replace node 3 by node 4".
func changeText(o client.MemberOperation) string {
	text := o.Kind
	if o.Name != "" {
		text += " " + shown.Line(o.Name)
	}
	if o.Node != 0 {
		text += fmt.Sprintf(" node %d", o.Node)
	}
	if o.By != 0 {
		text += fmt.Sprintf(" by node %d", o.By)
	}
	return text
}

// duration matches a time as Go writes it.
var duration = regexp.MustCompile(`\b([0-9]+(\.[0-9]+)?(h|m|s|ms|µs))+\b`)

// stepText returns what a running operation waits for. The time that a step names is that of its last check; WaitMS is
// newer.
func stepText(o client.MemberOperation) string {
	text := cmp.Or(o.Step, "it has begun")
	if left := output.Duration(time.Duration(o.WaitMS) * time.Millisecond); o.WaitMS > 0 && duration.MatchString(text) {
		text = duration.ReplaceAllLiteralString(text, left)
	} else if o.WaitMS > 0 {
		text += fmt.Sprintf(", %s left", left)
	}
	if o.Problem != "" {
		text += ": " + o.Problem
	}
	return text
}

// endedText returns what became of an operation.
func endedText(o client.MemberOperation) string {
	text := fmt.Sprintf("operation %s, %s: %s", o.ID, changeText(o), o.State)
	if o.Problem != "" {
		text += ": " + o.Problem
	}
	return text
}

// snapshotText returns how far a copy of the state is.
func snapshotText(s client.SnapshotStatus) string {
	switch {
	case s.Installing:
		return "installs a copy of the state"
	case s.TotalBytes > 0:
		return fmt.Sprintf("receives a copy of the state from node %d: %s of %s, %d %%", s.From, output.Bytes(s.Bytes),
			output.Bytes(s.TotalBytes), min(100, 100*s.Bytes/s.TotalBytes))
	}
	return fmt.Sprintf("receives a copy of the state from node %d: %s", s.From, output.Bytes(s.Bytes))
}

// findMember returns the member that the argument names, by its number or its name.
func findMember(ctx context.Context, c *client.Client, arg string) (client.Member, error) {
	l, err := c.Members().List(ctx)
	if err != nil {
		return client.Member{}, err
	}
	return memberIn(l, arg)
}

// memberIn returns the member of l that the argument names.
func memberIn(l client.MemberList, arg string) (client.Member, error) {
	id, bad := strconv.ParseUint(arg, 10, 64)
	i := slices.IndexFunc(l.Members, func(m client.Member) bool {
		return bad == nil && m.Node == id || bad != nil && m.Name == arg
	})
	if i >= 0 {
		return l.Members[i], nil
	}
	var names []string
	for _, m := range l.Members {
		names = append(names, fmt.Sprintf("%d (%s)", m.Node, m.Name))
	}
	return client.Member{}, fmt.Errorf("there is no member %s; members are %s", shown.Line(arg),
		strings.Join(names, ", "))
}

func newMemberCancel(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "cancel OPERATION",
		Short: "Take a change of the members back that is under way",
		Long: "Take a change of the members back that is under way, where that is still possible. A member that was\n" +
			"removed does not come back.",
		Args: arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.write(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				o, err := c.Members().Cancel(ctx, args[0])
				if err != nil {
					return err
				}
				return a.printf(o, "%s\n", endedText(o))
			})
		},
	}
}

// errGoesOn is the error for a command that has begun an operation and has not seen its end.
var errGoesOn = errors.New("the operation goes on without kvctl")
