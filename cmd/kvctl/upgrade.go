package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"tenure/client"
	"tenure/cmd/kvctl/internal/output"
)

func newUpgrade(a *app) *cobra.Command {
	return group(&cobra.Command{Use: "upgrade", Short: "Show and raise the cluster's feature level after an upgrade"},
		newUpgradeStatus(a), newUpgradeFinish(a))
}

func newUpgradeStatus(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show the feature level of the cluster, and what its members know",
		Args:  arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.call(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				u, err := c.Nodes().Upgrade(ctx)
				if err != nil {
					return err
				}
				return a.printUpgrade(&u)
			})
		},
	}
}

func newUpgradeFinish(a *app) *cobra.Command {
	var dryRun bool
	cmd := &cobra.Command{
		Use:   "finish",
		Short: "Raise the feature level, once all members run the new release",
		Long: "Raise the cluster's feature level to the newest that all members know. Only then are features of the\n" +
			"new release used, and there is no way back to the release before: a node of that release is refused,\n" +
			"and does not start on a data directory of the new level.\n\n" +
			"It is refused while a member, voter or not, runs an older release or is not heard; the text names it.\n" +
			"The exit code is 3 if the level may have been raised.",
		Args: arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if dryRun {
				return a.call(cmd.Context(), a.planUpgrade)
			}
			return a.change(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				u, err := c.Nodes().FinishUpgrade(ctx)
				if err != nil {
					return err
				}
				return a.printf(u, "the feature level is %d\n", u.FeatureLevel)
			})
		},
	}
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "say what would be done, and what stands in the way; change nothing")
	return cmd
}

// planUpgrade prints what finish would do. It fails if finish would be refused.
func (a *app) planUpgrade(ctx context.Context, c *client.Client) error {
	u, err := c.Nodes().Upgrade(ctx)
	if err != nil {
		return err
	}
	text := fmt.Sprintf("the feature level would be raised from %d to %d: from then on no member runs a release that "+
		"knows no more than level %[1]d", u.FeatureLevel, u.NewestLevel)
	switch {
	case u.FeatureLevel >= u.NewestLevel:
		text = fmt.Sprintf("nothing is to be done: the feature level is %d", u.FeatureLevel)
	case u.Blocked != "":
		text = fmt.Sprintf("the feature level would not be raised from %d: %s", u.FeatureLevel, u.Blocked)
	}
	if err := a.printf(u, "%s\n", text); err != nil || u.Blocked == "" {
		return err
	}
	return errQuiet
}

// printUpgrade prints the level of the cluster and a line for each member.
func (a *app) printUpgrade(u *client.Upgrade) error {
	return a.print(u, func(w io.Writer) error {
		fmt.Fprintf(w, "feature level  %d, and the release of the node that answers knows %d\n%s\n", u.FeatureLevel,
			u.NewestLevel, whenRaised(u))
		var rows [][]string
		for _, m := range u.Members {
			heard := "yes"
			if !m.Heard {
				heard = "no"
			}
			rows = append(rows, []string{fmt.Sprint(m.Node), m.Name, fmt.Sprint(m.Level), heard})
		}
		return table(w, []string{"NODE", "NAME", "KNOWS", "HEARD"}, rows)
	})
}

// whenRaised returns the line that says when the level is raised, or why not.
func whenRaised(u *client.Upgrade) string {
	switch {
	case u.FeatureLevel >= u.NewestLevel:
		return "upgrade        finished\n"
	case u.Blocked != "":
		return "waits          " + u.Blocked + "\n"
	case u.RaisesInMS >= 0:
		return fmt.Sprintf("raised         in %s by itself, or now with kvctl upgrade finish\n",
			output.Duration(time.Duration(u.RaisesInMS)*time.Millisecond))
	}
	return "raised         with kvctl upgrade finish\n"
}
