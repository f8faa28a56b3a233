package main

import (
	"fmt"
	"io"
	"math"

	"github.com/spf13/cobra"

	"tenure/server/recovery"
)

// newInspect shows what is in the files of a node that does not run.
func newInspect(stdout, stderr io.Writer) *cobra.Command {
	i := recovery.Inspection{To: math.MaxUint64}
	cmd := &cobra.Command{
		Use:   "inspect DIR",
		Short: "Show the log and the state in the files of a stopped node",
		Long: "Print the entries of the log (--log) and the records of the state database (--state) in the\n" +
			"data directory of a stopped node. Without either flag, do the same as kvnode check. The entries\n" +
			"of the journal come last and replace earlier entries of the same slot. Damaged files are read as\n" +
			"far as possible, and what is skipped is reported.\n\n" +
			"Nothing is changed. Values are shortened unless --values is given.",
		Example: "  kvnode inspect /var/lib/kvnode --log --from 5000\n" +
			"  kvnode inspect /var/lib/kvnode --state --prefix config/ --json",
		Args: oneArg("inspect: name one data directory: kvnode inspect DIR"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkInspection(cmd, i); err != nil {
				return err
			}
			if i.Log || i.State {
				lines, err := recovery.Inspect(args[0], i, stdout)
				if err == nil && lines == 0 {
					fmt.Fprintln(stderr, "kvnode: there is nothing of that kind in the directory")
				}
				return err
			}
			return check(args[0], i.JSON, stdout)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.BoolVar(&i.Log, "log", false, "show the entries of the log")
	f.Uint64Var(&i.From, "from", 0, "with --log, the first slot")
	f.Uint64Var(&i.To, "to", i.To, "with --log, the last slot")
	f.BoolVar(&i.State, "state", false, "show the records of the state database")
	f.StringVar(&i.Space, "space", "", "with --state, this space only: "+recovery.SpaceNames())
	f.StringVar(&i.Prefix, "prefix", "", "with --state, keys that begin with this")
	f.BoolVar(&i.Values, "values", false, "with --log or --state, show values whole")
	f.BoolVar(&i.JSON, "json", false, "write a JSON object a line, with values in base64")
	return cmd
}

// checkInspection refuses flags that would be ignored.
func checkInspection(cmd *cobra.Command, i recovery.Inspection) error {
	for _, f := range []struct {
		name, needs string
		has         bool
	}{
		{"from", "--log", i.Log}, {"to", "--log", i.Log}, {"space", "--state", i.State}, {"prefix", "--state", i.State},
		{"values", "--log or --state", i.Log || i.State},
	} {
		if cmd.Flags().Changed(f.name) && !f.has {
			return badConfig("inspect: --%s needs %s", f.name, f.needs)
		}
	}
	return nil
}
