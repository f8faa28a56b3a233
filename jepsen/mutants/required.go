package mutants

// required are the mutants that the design asks for by name or in words, and that must be in the table. Those of rules
// that do not exist yet (changes of members) come with their rules.
var required = []string{
	// the lease
	"LateTimer", "LiveOverwriteRenew", "LiveOverwriteRelease", "StaleOwnerOpen",
	"NodeOwner", "OwnerOnlyRelease", "ScalarQuorum", "ShortQuarantine", "ShortExclusion",
	"AcceptKeepsPromise", "ExclusionShrinks", "ReleaseAbandoned", "ReleaseBeforeAbandon", "LateRenewalSameEpoch",
	"P4NoDeadlineCheck", "QuarantineFromNewM", "QuickRestartForgets", "DriftBeyondBound",
	"GuardianGuesses",
	// progress (M6)
	"UnreadyForEver", "StuckForEver", "UnableTries", "LetsGoThoughNobodyIsAble", "NoStandBack", "AbleWithoutProbe",
	"StandsBackAlone",
	// second lines of the lease, each pinned by a unit test
	"LateTimerAlone", "StaleOwnerOpenAlone", "P2WithoutBase", "P3NoDeadlineCheck", "P4NoDeadlineCheckAlone",
	// changing members
	"OldStampAccepted", "SettleSkipped", "ActBeforeChosen", "NoEraPerMembership",
	// named leases
	"AcquisitionIdReused", "ReplyAfterRelease", "TokenFallsWithinAcquisition", "TokenUnchecked", "TokenOfOneAcceptor",
	"FloorIgnoredForKnownNames", "NoFloorRaiseOnDrop", "EraFromOldIncarnation", "EraCarry", "WithdrawIgnoresFresh",
	"WithdrawAnyBallot",
	"BucketNotDurable", "BucketLoweredEarly", "BucketAcceptNotDropped",
	// the leases that the product is compared with
	"FleaseLateExpiry", "FleaseNoSafetyWait", "FleaseNoRestartWait", "FleaseRestartWaitOfThePaper", "FleaseScalarQuorum",
	"FleaseWriteIgnoresRead", "FleaseReadTakesTheLast", "FleaseBallotNotFromClock",
	"MajorityNoRestartWait", "MajorityScalarQuorum", "MajorityLateTimer", "MajorityVoteChanges",
	// the feature level
	"LevelRaisedWhileAMemberIsOlder", "CommandAboveTheLevelIsApplied", "OlderNodesStayWhileTheLevelIsRaised",
	"MembersChangeWhileTheLevelIsRaised", "LevelRaisedWhileTheMembersChange", "OlderPeerStaysConnected",
	// clocks
	"ClockRateNeverCompared", "SuspendedNodeGoesOn",
	// TLS between nodes
	"PeerWithAClientsCertificate", "PeerOfAnotherCluster", "PeerExpired", "PeerNameNotBound",
	// identity
	"WipedNodeVotes", "EmptyListBootstrapTwice",
	// the log and its disk
	"PromiseNotPersisted", "AcceptNotPersisted", "LogWithoutFsync", "HighestAcceptedIgnored", "AcceptBelowPromise",
	"HalfQuorum", "LogBallotReused", "LeaseBallotReused", "RestartCounterReused", "OwnVoteBeforeDisk",
	"ChosenThroughIgnoresBallot", "TruncatedPromiseCounted", "AppliedSlotApart", "FsyncErrorIgnored", "CRCNotChecked",
	// disks that are full
	"SpaceByWorstMember", "FullMemberAcceptsInMemory", "FullMemberStores", "ShortSpaceWaitsForChanges",
	// the journal
	"JournalNoSync", "JournalTornTailAccepted", "JournalSectorUnchecked", "JournalOverwritesUnflushed",
	"JournalGapIgnored", "JournalFlushForgetsPending",
	// snapshots
	"SnapshotInstallTorn", "SnapshotSlotWrong", "DedupMissingInSnapshot",
	// the wire
	"FrameChecksumIgnored", "CutFrameTakenForWhole", "WirePromiseWithoutTruncated",
	// what clients are told
	"WriteAcknowledgedWithoutLease", "ConsistentReadWithoutLease", "LeaseCheckedOnlyBeforeRead", "ReadJoinsRound",
	"ReadyBeforeOpening", "OldRecoveryKept", "ReadinessKept", "FinishUsesOldClock",
	"UnknownAsRefusedOnTimeout", "UnknownAsRefusedAfterLease", "UnknownAsRefusedOnStepDown", "UnknownAsRefusedOnLinkLoss",
	// sessions, locks, times, fences, transactions
	"TimersNotStartedAnew", "SessionEndIgnoresArm", "KeyEndIgnoresArm", "DelayEndIgnoresArm", "AnyoneEndsTimes",
	"LockDelayDropped", "AcquireIgnoresDelay", "AcquireIgnoresHolder", "FenceTakesOlder", "FenceRefusesItsOwn",
	"FenceNotRemembered", "FenceNotFolded",
	"TransactionNotUndone",
	// waiting for changes
	"TombstoneForgotten", "WaiterArmedAfterRead", "SignalBeforeWhole", "HalfRevisionTold",
	// exactly once
	"DedupNotFolded", "DedupWithoutBase",
	// members
	"NodeIdReused", "VoterBeforeCaughtUp", "SettleSkipped", "ActBeforeChosen", "SpareReplacesTwo",
	"PipelineOverMembership", "OneLayerOnly",
	// the checkers
	"CheckerTakesStaleReads", "CheckerTakesLostWrites", "CheckerTakesDuplicates",
	"CheckerTakesHalfTransactions", "CheckerTakesInterleavedWrites", "CheckerTakesTwoHolders", "CheckerTakesEarlyEnds",
	"CheckerTakesShortDelays", "CheckerTakesLocksOfTheDead", "CheckerTakesMissedChanges", "CheckerTakesChangesTwice",
	"CheckerTakesSleepers", "CheckerTakesTwoOwners", "CheckerTakesOlderTokens", "CheckerTakesFallingTokens",
	"CheckerTakesTokensTwice", "CheckerTakesLostLeases",
}
