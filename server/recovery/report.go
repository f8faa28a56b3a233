package recovery

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"tenure/internal/ballot"
	"tenure/internal/shown"
)

// shownTouched is how many keys the report names; the plan has more.
const shownTouched = 20

// Report writes for people what p says.
func (p Plan) Report(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "Cluster %s: its voters are %s; %s.\n\n", p.Cluster, ids(p.Voters), p.gone())
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "DIRECTORY\tNODE\tSTATE AT\tCHOSEN THROUGH\tLOG ENDS AT\t")
	for _, s := range p.Survivors {
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%d\t\n", s.Dir, s.Node, s.State, s.Chosen, s.Last)
	}
	_ = t.Flush() // into memory
	fmt.Fprintf(&b, "\nSlots up to %d are known to be chosen, and kept.\n", p.Chosen)
	p.tellUncertain(&b)
	if p.Complete {
		b.WriteString("Nothing that was acknowledged is lost.\n")
	} else {
		fmt.Fprintf(&b, "Above slot %d the nodes that are gone may have accepted more among themselves. If so, it is "+
			"lost, and nobody\nknows which keys it wrote.\n", p.Last)
	}
	if len(p.Voters)-len(p.Gone) > len(p.Voters)/2 {
		fmt.Fprintf(&b, "\nA majority of the voters is here. To start them is better than to recover: then nothing is "+
			"lost, and no\nclient sees a new cluster.\n")
	}
	_, err := io.WriteString(w, shown.Text(b.String()))
	return err
}

func (p *Plan) gone() string {
	if len(p.Gone) == 0 {
		return "none is gone"
	}
	return fmt.Sprintf("%d of them gone: %s", len(p.Gone), ids(p.Gone))
}

// tellUncertain tells what the survivors have in slots that are not known to be chosen.
func (p *Plan) tellUncertain(b *strings.Builder) {
	if p.Last <= p.Chosen {
		return
	}
	fmt.Fprintf(b, "What survivors accepted in the slots from %d to %d is kept.\n", p.Chosen+1, p.Last)
	if p.Uncertain == 0 {
		return
	}
	fmt.Fprintf(b, "%d of them are not certain: the nodes that are gone may have chosen something else there", p.Uncertain)
	if p.Empty > 0 {
		fmt.Fprintf(b, ",\nor something in the %d that will be empty", p.Empty)
	}
	b.WriteString(".\n")
	for i, t := range p.Touched {
		if i == shownTouched {
			fmt.Fprintf(b, "  and %d more, which the plan names\n", len(p.Touched)-i)
			break
		}
		fmt.Fprintf(b, "  %s: slot %d", t.Name, t.First)
		if t.Slots > 1 {
			fmt.Fprintf(b, " to %d, %d times", t.Last, t.Slots)
		}
		b.WriteString("\n")
	}
	if p.MoreWrites > 0 {
		fmt.Fprintf(b, "  and %d writes of further keys\n", p.MoreWrites)
	}
}

func ids(nodes []ballot.NodeID) string {
	var parts []string
	for _, n := range nodes {
		parts = append(parts, fmt.Sprint(n))
	}
	return strings.Join(parts, ", ")
}
