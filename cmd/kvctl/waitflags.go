package main

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"tenure/client"
)

// waitFlags are those of the verbs that can wait for news.
type waitFlags struct {
	index uint64
	wait  time.Duration
	shows bool
}

const waitText = "With --index N it waits until there is a change behind index N, for at most --wait, and prints what there is then.\n" +
	"The index that goes with that is told on standard error, for the next time; --index 0 waits for nothing."

func (w *waitFlags) add(cmd *cobra.Command) {
	cmd.Flags().Var((*decimal)(&w.index), "index", "wait for a change behind this index, and tell the new one")
	cmd.Flags().DurationVar(&w.wait, "wait", client.DefaultWait, "with --index, how long to wait")
}

// start checks the flags and gives the command the time that they ask for.
func (w *waitFlags) start(a *app, cmd *cobra.Command) error {
	w.shows = cmd.Flags().Changed("index")
	if !w.shows && cmd.Flags().Changed("wait") {
		return usage("--wait goes with --index N: say behind which index there is to be a change")
	}
	if w.wait <= 0 {
		return usage("--wait %v: must be above 0", w.wait)
	}
	if w.index != 0 {
		a.waits = w.wait
	}
	return nil
}

// tell says at which index the answer is.
func (w *waitFlags) tell(a *app, m client.Meta) {
	if !w.shows || m.Index == 0 {
		return
	}
	if a.json {
		_ = json.NewEncoder(a.stderr).Encode(struct {
			Index uint64 `json:"index"`
		}{m.Index})
		return
	}
	fmt.Fprintf(a.stderr, "kvctl: index %d\n", m.Index)
}
