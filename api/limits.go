package api

import "time"

// The limits that every node has. What goes beyond is refused with CodeInvalid or CodeTooLarge.
const (
	MaxURLBytes            = 16 << 10 // of a request's target
	MaxKeyBytes            = 1024     // of UTF-8; a key has at least 1
	MaxIdempotencyKeyBytes = 128
	MaxTxnOps              = 128  // operations of a transaction
	MaxKeyDetails          = 1000 // elements of a listing with QueryDetails
	// TxnSpaceBytes is what the operations of a transaction may have beside the largest value.
	TxnSpaceBytes       = 64 << 10
	MaxQuotaPrefixBytes = 512     // of UTF-8; a prefix that has a quota has at least 1
	MaxQuota            = 1 << 62 // the largest limit of a quota
	// MaxValueBytes is the largest value that a node may be told to take; usually it takes DefaultMaxValueBytes.
	MaxValueBytes        = 16 << 20
	DefaultMaxValueBytes = 512 << 10

	// MinKeyTTL is the shortest life of an expiring key: the master looks at its clock several times in it.
	MinKeyTTL = 100 * time.Millisecond
)

// The limits of blocking queries.
const (
	DefaultWait = 5 * time.Minute // of a query that names none
	MaxWait     = 10 * time.Minute
)

// The limits of sessions.
const (
	MaxSessionNameBytes = 512 // of its name, and of its node
	// MinSessionTTL is the shortest TTL that a node may be told to take; usually it takes DefaultMinSessionTTL.
	MinSessionTTL        = 100 * time.Millisecond
	DefaultMinSessionTTL = 10 * time.Second
	MaxSessionTTL        = 24 * time.Hour
	DefaultLockDelay     = 15 * time.Second
	MaxLockDelay         = 60 * time.Second
)

// The limits of leases.
const (
	MaxLeaseNameBytes    = 256 // of UTF-8; a name has at least 1
	MaxLeaseOwnerBytes   = 128 // of UTF-8: of an owner, which has at least 1, and of an acquisition
	MinLeaseTTL          = 100 * time.Millisecond
	MaxLeaseWait         = 10 * time.Minute
	MaxLeaseRenewals     = 1024    // in one request
	MaxLeaseRenewalBytes = 1 << 20 // of its body
	MaxLeasePage         = 10_000  // leases in an answer
)

// The limits of members.
const (
	MaxOperationIDBytes   = 128 // of printable ASCII; an id has at least 1
	MaxMemberNameBytes    = 64  // of UTF-8 without spaces and control characters; a name has at least 1
	MaxMemberAddressBytes = 255 // of HOST:PORT
)

// The limits of tokens and policies.
const (
	MaxTokens               = 50_000
	MaxPolicies             = 1024
	MaxTokenPolicies        = 64       // of one token
	MaxRulesBytes           = 32 << 10 // of one policy
	MaxPolicyNameBytes      = 128      // of letters, digits, - and _; a name has at least 1
	MaxTokenNameBytes       = 128      // of UTF-8
	MaxACLDescriptionBytes  = 512      // of UTF-8: of a token, and of a policy
	MaxCertificateNameBytes = 512      // of what a token says of a client certificate
	MaxSecretBytes          = 256      // of what a request carries as the secret of a token
	MaxACLQuestions         = 128      // of one request to PathACLAuthorize
	MaxACLQuestionBytes     = 1 << 20  // of its body
	MaxTokenUses            = 200      // accessors of one request to PathACLUses
	MinTokenTTL             = time.Second
	MaxTokenTTL             = 10 * 365 * 24 * time.Hour
)
