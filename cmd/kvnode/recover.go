package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"tenure/internal/ownfile"
	"tenure/internal/progress"
	"tenure/internal/shown"
	"tenure/server/recovery"
)

func newRecover(stdout, stderr io.Writer) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "recover",
		Short: "Make a new cluster of what is left when a majority is lost for good",
		Long: "Make a new cluster of the data directories of nodes that are left when a majority of the voters is lost\n" +
			"for good. All of these nodes must be stopped; copies of their directories will do.\n\n" +
			"What the nodes that are lost have accepted among themselves is lost. While one of them may come back, wait.",
		Example: "  kvnode recover plan ./node1 ./node2 > plan.json\n" +
			"  kvnode recover apply plan.json --data ./new1\n" +
			"  kvnode --data ./new1 --peer 10.0.0.1:8300 --client 10.0.0.1:8500 --insecure",
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			return badConfig("recover: needs a command: plan, to see what is left, or apply; see kvnode recover --help")
		},
	}
	cmd.AddCommand(newRecoverPlan(stdout, stderr), newRecoverApply(stdout, stderr))
	return cmd
}

func newRecoverPlan(stdout, stderr io.Writer) *cobra.Command {
	return &cobra.Command{
		Use:   "plan DIR...",
		Short: "Say what is left, and what may be lost",
		Long: "Read the data directories of all nodes that are left, write a plan to standard output, and say on standard\n" +
			"error what it comes to. Nothing is changed. The more directories there are, the less is lost.",
		Example: "  kvnode recover plan ./node1 ./node2 > plan.json",
		Args: func(_ *cobra.Command, dirs []string) error {
			if len(dirs) == 0 {
				return badConfig("recover plan: name the data directory of each node that is left")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, dirs []string) error {
			p, err := recovery.Make(dirs)
			if err != nil {
				return err
			}
			if err := p.Report(stderr); err != nil {
				return err
			}
			if progress.IsTerminal(stdout) {
				_, err := fmt.Fprintf(stderr, "\nTo apply it, write the plan to a file: kvnode recover plan %s > plan.json\n",
					words(dirs))
				return err
			}
			return p.Write(stdout)
		},
	}
}

func newRecoverApply(stdout, stderr io.Writer) *cobra.Command {
	var data, lose string
	cmd := &cobra.Command{
		Use:   "apply PLAN|-",
		Short: "Make the data directory of a new cluster's first node",
		Long: "Make a new data directory, of a cluster of one voter with a new cluster id, from all directories of the\n" +
			"plan. Those are kept as they are. Then start a node on the new directory, and have the others join it: with\n" +
			"kvnode --join on empty directories, or with kvnode rejoin --give-up on their old ones.\n\n" +
			"Nodes of the old cluster cannot speak to the new one. Revisions, fencing tokens and epochs go on above the\n" +
			"old ones, and writes that are tried again are refused.",
		Example: "  kvnode recover apply plan.json --data ./new1",
		Args:    oneArg("recover apply: give the file that kvnode recover plan has written"),
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := readPlan(args[0], cmd.InOrStdin())
			if err != nil {
				return err
			}
			if err := ownfile.CheckDir(data); err != nil { // before anybody is asked
				reads := &readingError{error: err, file: args[0]}
				if lose == "" { // the line is complete, and works without a terminal
					reads.more = []string{"--yes-i-lose", p.Confirm}
				}
				return reads
			}
			if lose == "" {
				in, done := answers(cmd, args[0])
				defer done()
				if lose, err = confirm(p, in, stderr); err != nil {
					return err
				}
			}
			r, err := recovery.Apply(p, data, lose)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(shown.Writer(stdout), "%s is node %d of cluster %s, alone, at revision %d.\nStart it, and "+
				"have the others join: kvnode --data %s --peer HOST:PORT --client HOST:PORT\n", r.Dir, r.Node, r.Cluster,
				r.Revision, shown.Word(r.Dir))
			return err
		},
	}
	cmd.Flags().StringVar(&data, "data", defaultData, "data directory to make; must be empty, or not there")
	cmd.Flags().StringVar(&lose, "yes-i-lose", "", "what may be lost, in the words of the plan (default: ask)")
	return cmd
}

// answers returns from where a person's answer is read: the terminal if the plan is standard input.
func answers(cmd *cobra.Command, plan string) (in io.Reader, done func()) {
	if plan != stdinName {
		return cmd.InOrStdin(), func() {}
	}
	tty, err := os.Open("/dev/tty")
	if err != nil {
		return strings.NewReader(""), func() {}
	}
	return tty, func() { _ = tty.Close() }
}

// readPlan reads the plan in the file of that name, or standard input.
func readPlan(name string, stdin io.Reader) (recovery.Plan, error) {
	if name == stdinName {
		return recovery.ReadPlan(stdin)
	}
	f, err := os.Open(name)
	if err != nil {
		return recovery.Plan{}, cannotRead(name, err, "give the file that kvnode recover plan has written")
	}
	defer f.Close()
	return recovery.ReadPlan(f)
}

// confirm has a person type what may be lost.
func confirm(p recovery.Plan, in io.Reader, out io.Writer) (string, error) {
	if err := p.Report(out); err != nil {
		return "", err
	}
	if _, err := fmt.Fprintf(out, "\nTo give this up and make a new cluster, type %s: ", p.Confirm); err != nil {
		return "", err
	}
	line, err := bufio.NewReader(in).ReadString('\n')
	if err != nil && line == "" {
		return "", badConfig("recover apply: nobody has confirmed it; in a script use --yes-i-lose %s", p.Confirm)
	}
	return strings.TrimSpace(line), nil
}

// words returns a list of words of a shell's command line.
func words(list []string) string {
	quoted := make([]string, len(list))
	for i, w := range list {
		quoted[i] = shown.Word(w)
	}
	return strings.Join(quoted, " ")
}
