package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"tenure/jepsen/damage"
)

func damageCommand() *cobra.Command {
	cfg := damage.Config{Out: os.Stdout}
	results := ""
	c := &cobra.Command{Use: "damage", Args: cobra.NoArgs,
		Short: "Plant faults of a disk in the files of nodes, half of them while they run, and ask for every key"}
	f := c.Flags()
	f.IntVar(&cfg.Faults[damage.Flip], "flips", 1000, "flipped bits")
	f.IntVar(&cfg.Faults[damage.Truncate], "truncations", 200, "files cut off")
	f.IntVar(&cfg.Faults[damage.Page], "pages", 200, "swapped or zeroed pages")
	f.IntVar(&cfg.Workers, "workers", 2, "nodes at a time")
	f.Uint64Var(&cfg.Seed, "seed", 0, "seed of all choices (0: a random one)")
	f.StringVar(&results, "results", "", "write the tables to this file, too")
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		if cfg.Workers < 1 {
			return errors.New("--workers: at least one node must run")
		}
		if cfg.Seed == 0 {
			cfg.Seed = rand.Uint64()
		}
		fmt.Printf("seed %d\n", cfg.Seed)
		return inTempDir(func(dir string) error {
			cfg.Dir = dir
			report, err := damage.Run(cmd.Context(), cfg)
			if len(report.Rounds) == 0 {
				return err
			}
			fmt.Printf("%.0f s\n\n", report.Took.Seconds())
			told := report.Write(os.Stdout)
			if results != "" {
				told = errors.Join(told, writeDamage(results, &cfg, &report))
			}
			return errors.Join(err, told, report.Err())
		})
	}
	return c
}

// damageHead begins the page of results.
const damageHead = `# Faults of a disk

%s, %s, %s/%s, %d processors, in %.0f s.

Each round takes a node that was killed, plants one fault in one of its files, while it is stopped or while it runs and
is written to, asks it for every key and for a listing, stale, ends it, starts it again and asks once more. The node is
alone in its cluster, so that nobody else can give back what it lost. A broken promise is an answer that is not what was
written, a crash, or an end without a line that names the file. A file and that of its checksums count as one: of a page
that does not go with its checksum nobody can tell which of the two has changed.

Nothing in use: the bytes are still as the fault left them, and nobody needs them. Written anew: nothing was missed, and
the node has replaced them. Not installed, by name: a received snapshot does not hold; the node says so, keeps the
state it had, and is sent another one. Dropped as cut off: the end of the journal looked like a commit that nobody was told of
([why](../storage/DESIGN.md#what-is-left)).

`

// writeDamage writes the tables to a file.
func writeDamage(file string, cfg *damage.Config, r *damage.Report) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	command := fmt.Sprintf("`go run ./jepsen damage --flips %d --truncations %d --pages %d --seed %d`",
		cfg.Faults[damage.Flip], cfg.Faults[damage.Truncate], cfg.Faults[damage.Page], cfg.Seed)
	_, err = fmt.Fprintf(f, damageHead, command, time.Now().UTC().Format("2006-01-02 15:04 UTC"), runtime.GOOS,
		runtime.GOARCH, runtime.NumCPU(), r.Took.Seconds())
	return errors.Join(err, r.Write(f), f.Close())
}
