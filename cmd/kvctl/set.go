package main

import (
	"context"

	"github.com/spf13/cobra"

	"tenure/client"
)

func newSet(a *app) *cobra.Command {
	var w writeFlags
	var acquire, release string
	cmd := &cobra.Command{
		Use:     "set KEY VALUE|-",
		Aliases: []string{"put"},
		Short:   "Write a key",
		Long: "set writes a key and prints the revision of the write. A VALUE of - is read from standard input. A VALUE that\n" +
			"begins with - goes behind --. A write without --ttl makes the key stay, also if it was to expire.\n\n" +
			"With --acquire or --release it locks or unlocks the key for a session too; if it cannot, nothing is changed and\n" +
			"the exit code is 1. kvctl lock does all that a command under a lock needs.",
		Example:           "  kvctl set hello world\n  kvctl set photo - <photo.jpg\n  kvctl set --ttl 30s seen/here now\n  kvctl set -- balance -5",
		Args:              cobra.ExactArgs(2),
		ValidArgsFunction: a.completeKeys,
		RunE: func(cmd *cobra.Command, args []string) error {
			if acquire != "" && release != "" {
				return usage("--acquire and --release contradict each other: give one of them")
			}
			value, err := a.value(args[1])
			if err != nil {
				return err
			}
			return a.write(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				var revision uint64
				var err error
				switch {
				case acquire != "":
					revision, err = c.Acquire(ctx, args[0], value, acquire, w.options())
				case release != "":
					revision, err = c.Release(ctx, args[0], value, release, w.options())
				default:
					revision, err = c.Put(ctx, args[0], value, w.options())
				}
				if err != nil {
					return err
				}
				return a.printWritten(args[0], revision)
			})
		},
	}
	w.add(cmd)
	w.addFlags(cmd)
	cmd.Flags().StringVar(&acquire, "acquire", "", "lock the key for the session with this ID")
	cmd.Flags().StringVar(&release, "release", "", "unlock the key, which that session holds")
	return cmd
}
