package wire_test

var chatShown = []shown{
	{quirk: "QO-01@1", ran: "call_1 call_2 call_3"},
	{quirk: "QO-22@1", same: true},
}
