package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"tenure/client"
	"tenure/cmd/kvctl/internal/output"
)

// headline returns the cluster in one line.
func (s survey) headline() string {
	var parts []string
	if ids := s.clusters(); len(ids) == 1 {
		parts = append(parts, "cluster "+ids[0])
	}
	if m, ok := s.master(); ok {
		parts = append(parts, fmt.Sprintf("master is node %d", m.Node), fmt.Sprintf("epoch %d", m.Epoch),
			fmt.Sprintf("lease %d ms left", m.Lease.RemainingMS), fmt.Sprintf("feature level %d", m.FeatureLevel))
	} else if n := s.unasked(); n != 0 {
		parts = append(parts, fmt.Sprintf("master is node %d, which is not among the endpoints", n))
	} else if n := s.vouched(); n != 0 {
		parts = append(parts, fmt.Sprintf("master is node %d, which does not answer here", n))
	} else if n := s.believed(); n != 0 {
		parts = append(parts, fmt.Sprintf("no node says that it is master; the last was node %d", n))
	} else {
		parts = append(parts, "no master")
	}
	parts = append(parts, fmt.Sprintf("%d of %s answering", s.answering(), output.Plural(uint64(len(s)), "node")))
	return strings.Join(parts, ", ")
}

// write writes the survey as a table, with notes below it.
func (s survey) write(out io.Writer, list client.MemberList) error {
	b := &strings.Builder{}
	fmt.Fprintf(b, "%s\n\n", s.headline())
	w := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ENDPOINT\tNODE\tROLE\tMASTER\tEPOCH\tLEASE\tGUARDIAN\tCHOSEN\tAPPLIED\tCHECKPOINTED\tLAG\t"+
		"REVISION\tLOG\tSTATE\tFREE\tUPTIME\tVERSION")
	for _, n := range s {
		fmt.Fprintln(w, strings.Join(s.row(n, list), "\t"))
	}
	_ = w.Flush() // a Builder takes everything
	notes := slices.Concat(s.notes(list), memberNotes(list), s.changes())
	for i, note := range notes {
		if i == 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintln(b, commandApart(note))
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// commandApart puts the command with which a note ends on a line of its own, ready to be copied.
func commandApart(note string) string {
	const mark = ": kvctl "
	if i := strings.LastIndex(note, mark); i >= 0 {
		note = note[:i+1] + "\n  " + strings.TrimPrefix(note[i:], ": ")
	}
	return note
}

func (s survey) row(n nodeView, list client.MemberList) []string {
	name := hostOf(n.endpoint)
	if !n.answers() {
		row := []string{name, "-", "unreachable"}
		if m, ok := memberAt(list, n.endpoint); ok {
			row[1] = fmt.Sprint(m.Node)
		}
		for range 14 {
			row = append(row, "-")
		}
		return row
	}
	x := n.status
	number := func(u uint64) string { return fmt.Sprint(u) }
	master := "-"
	if x.Master != 0 {
		master = number(x.Master)
	}
	role := x.Role
	if m, _ := s.master(); role == client.RoleMaster && m.Node != x.Node {
		role = "was master" // there is one at a time
	}
	if x.Draining {
		role += ", draining"
	}
	if len(s.wrong(n)) > 0 {
		role += ", see below"
	}
	if n.old() {
		role += fmt.Sprintf(" (%s ago)", output.Duration(n.age))
	}
	version := x.Version
	if version == "" {
		version = "-"
	}
	return []string{
		name, number(x.Node), role, master, number(x.Epoch), lease(n), guardian(x.Guardian),
		number(x.Chosen), number(x.Applied), number(x.Checkpointed), number(s.lag(n)), number(x.Revision),
		output.Bytes(x.Disk.LogBytes), output.Bytes(x.Disk.StateBytes), output.Bytes(x.Disk.FreeBytes),
		output.Duration(time.Duration(x.UptimeMS) * time.Millisecond), version,
	}
}

// lease returns the cell of the master lease: exact on the holder, and a hint, marked as one, elsewhere.
func lease(n nodeView) string {
	l := n.status.Lease
	switch {
	case l.Held:
		return fmt.Sprintf("%d ms", l.RemainingMS)
	case l.QuarantineMS > 0:
		return fmt.Sprintf("silent %d ms", l.QuarantineMS)
	case l.RemainingMS > 0:
		return fmt.Sprintf("~%d ms", l.RemainingMS)
	}
	return "-"
}

// guardian returns the cell of the process that releases the node's lease after a crash.
func guardian(g client.Guardian) string {
	switch {
	case g.PID != 0:
		return fmt.Sprintf("pid %d", g.PID)
	case g.Problem != "":
		return "none"
	}
	return "-"
}

// memberAt returns the member whose clients are to reach it at that endpoint.
func memberAt(list client.MemberList, endpoint string) (client.Member, bool) {
	i := slices.IndexFunc(list.Members, func(m client.Member) bool { return m.ClientAddress == hostOf(endpoint) })
	if i < 0 {
		return client.Member{}, false
	}
	return list.Members[i], true
}

// whyAbsent returns what the other nodes know of why no member answers at that endpoint, or "".
func (s survey) whyAbsent(list client.MemberList, endpoint string) string {
	m, ok := memberAt(list, endpoint)
	if !ok {
		unknown := func(m client.Member) bool { return m.ClientAddress == "" }
		if len(list.Members) == 0 || slices.ContainsFunc(list.Members, unknown) {
			return ""
		}
		return "no member has that address for clients: see kvctl member list"
	}
	for _, n := range s {
		if !n.answers() || n.old() || n.status.Cluster != list.Cluster {
			continue
		}
		for _, p := range n.status.Peers {
			if p.Node == m.Node && p.Problem != "" {
				return p.Problem
			}
		}
	}
	return ""
}

func (s survey) notes(list client.MemberList) []string {
	var notes []string
	for _, n := range s {
		switch {
		case !n.answers():
			note := fmt.Sprintf("%s: %s", n.endpoint, n.whyNot())
			if why := s.whyAbsent(list, n.endpoint); why != "" {
				note += "; " + why
			}
			notes = append(notes, note)
		default:
			for _, wrong := range s.wrong(n) {
				notes = append(notes, fmt.Sprintf("%s: %s", n.endpoint, wrong))
			}
		}
		if n.answers() && n.status.Guardian.Problem != "" {
			notes = append(notes, fmt.Sprintf("%s: no guardian: %s", n.endpoint, n.status.Guardian.Problem))
		}
	}
	return notes
}
