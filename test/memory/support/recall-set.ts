/**
 * Facts about the customers of a shop and the people whom an assistant works for, each with questions that ask for it in
 * other words. Stale ones were true once: their text may never be recalled, whatever is asked.
 */
export type RecallFact = {text: string; key?: string; asked: readonly string[]}

export const facts: readonly RecallFact[] = [
  // The refund desk and its customers.
  {
    text: 'Prefers refunds as store credit instead of money on the card.',
    key: 'preference/refund-channel',
    asked: ['How does this customer want to be paid back?', 'Voucher or bank transfer when something is returned?'],
  },
  {
    text: 'Wears hiking boots in size 43, wide fit.',
    asked: ['What shoe size should I send?', 'Which footwear fits him?'],
  },
  {
    text: 'Is allergic to down feathers.',
    asked: ['Can we offer a goose-filled jacket?', 'Any material she must avoid?'],
  },
  {
    text: 'Wants parcels left with the neighbour at number 12 when nobody is home.',
    asked: ['Where should the courier drop the package if she is out?', 'Delivery instructions in her absence?'],
  },
  {
    text: 'Always pays by invoice within 30 days.',
    key: 'preference/payment-terms',
    asked: ['What payment terms does the customer use?', 'How is the bill settled?'],
  },
  {
    text: 'Speaks Portuguese and some English.',
    asked: ['In which language should the reply be written?', 'What does he speak?'],
  },
  {
    text: 'Prefers to be contacted by e-mail, never by phone.',
    key: 'preference/contact',
    asked: ['May I call the customer?', 'What is the best way to reach her?'],
  },
  {
    text: 'Runs a small climbing school in Grenoble.',
    asked: ['What does the customer do for a living?', 'What business does she own?'],
  },
  {
    text: 'Orders for a group of twelve scouts every spring.',
    asked: ['When does the big youth order come in?', 'Who buys for the scout troop?'],
  },
  {
    text: 'Returned a tent last year because a pole was bent.',
    asked: ['Did anything break before?', 'Why was the shelter sent back?'],
  },
  {
    text: 'Lives on the fourth floor without a lift, so heavy boxes need two carriers.',
    asked: ['Is there an elevator at the address?', 'Why do bulky deliveries need extra people?'],
  },
  {
    text: 'Has the loyalty card number ending in 7731.',
    asked: ['Which bonus programme membership does he have?', 'What are the last digits of the loyalty card?'],
  },
  {
    text: 'Wants receipts sent to the accounting department at billing@alder.example.',
    asked: ['Who gets the invoices?', 'Where do copies of the receipts go?'],
  },
  {
    text: 'Buys only products made without leather.',
    asked: ['Are animal hide boots acceptable?', 'Does she accept vegan goods only?'],
  },
  {
    text: 'Complained twice about late deliveries by Falcon Express.',
    asked: ['Which courier disappointed her?', 'Were shipments delayed before?'],
  },
  {
    text: 'May approve purchases of up to 2,000 euro alone.',
    asked: ['What is his spending limit?', 'How much can he sign off without his boss?'],
  },
  {
    text: 'Prefers matte black equipment to bright colours.',
    asked: ['What colour should the gear have?', 'Would a neon jacket please him?'],
  },
  {
    text: 'Is left-handed and needs the matching carabiner gates.',
    asked: ['Which hand does she use?', 'Anything special about her clips?'],
  },
  {
    text: 'Wants gift wrapping with a handwritten card for birthdays.',
    asked: ['How should presents be packed?', 'Does she like a note in the box?'],
  },
  {
    text: 'Is a wholesale customer with a discount of 15 percent.',
    asked: ['What reduction applies to his orders?', 'Does he get a trade price?'],
  },
  // What a personal assistant knows.
  {
    text: 'Is vegetarian and does not eat mushrooms.',
    key: 'fact/diet',
    asked: ['Can I serve her a steak?', 'What food should the menu leave out?'],
  },
  {
    text: 'Drinks oat-milk flat white, never after 3 pm.',
    asked: ['What coffee should I order?', 'Is an espresso in the evening a good idea?'],
  },
  {
    text: 'Her daughter Lea plays the cello and has lessons on Tuesday afternoons.',
    asked: ['Which instrument does the child learn?', 'When is the music lesson?'],
  },
  {text: 'His sister is called Ines and lives in Braga.', asked: ['Does he have siblings?', 'Where does Ines live?']},
  {
    text: 'Flies only in aisle seats because of long legs.',
    key: 'preference/seat',
    asked: ['Window or aisle on the plane?', 'Which place should I book for the flight?'],
  },
  {
    text: 'Gets seasick on boats.',
    asked: ['Would a ferry trip be pleasant for him?', 'Does he suffer from motion sickness?'],
  },
  {
    text: 'Works from home on Mondays and Fridays.',
    asked: ['On which days is she not in the office?', 'When does she telecommute?'],
  },
  {
    text: 'Takes blood pressure tablets every morning at eight.',
    asked: ['What medicine does he need daily?', 'When should I remind him of his pills?'],
  },
  {
    text: 'Has a meeting-free rule on Wednesday mornings.',
    asked: ['When must nothing be scheduled?', 'Which part of the week stays clear of appointments?'],
  },
  {
    text: 'The wifi password of the cabin is on the fridge.',
    asked: ['How do guests get online in the holiday house?', 'Where is the internet code kept?'],
  },
  {text: 'Owns an old greyhound named Comet.', asked: ['Does she have a pet?', 'What is the name of the dog?']},
  {
    text: 'Is training for the Lisbon marathon in October.',
    asked: ['Which race is he preparing for?', 'What sport goal does he have this autumn?'],
  },
  {
    text: 'Reads detective novels, above all from Scandinavia.',
    asked: ['What book would make a good present?', 'Which literature does she enjoy?'],
  },
  {
    text: 'Drives an electric car that charges at the office garage.',
    asked: ['What kind of vehicle does he have?', 'Where is the battery of his car filled?'],
  },
  {
    text: 'Wants summaries of at most five sentences.',
    key: 'instruction/length',
    asked: ['How long may a report be?', 'Should answers be short or detailed?'],
  },
  {
    text: 'Likes dates written as day, month, year.',
    key: 'instruction/dates',
    asked: ['Which date format should I use?', 'How do I write the 4th of May for her?'],
  },
  {
    text: 'Celebrates the wedding anniversary on the 9th of June.',
    asked: ['When did they get married?', 'Which day in early summer should he not forget flowers?'],
  },
  {text: 'Grew up in Trieste and moved north for university.', asked: ['Where is she from?', 'What is his home town?']},
  {
    text: 'Supports the local handball club and holds a season ticket.',
    asked: ['Which team does he cheer for?', 'Is she a fan of any sport?'],
  },
  {
    text: 'The landlord is Mr. Okafor, who answers only in the evening.',
    asked: ['Who rents out the flat?', 'When can the owner of the apartment be reached?'],
  },
  {
    text: 'Keeps the spare key in the shed behind the watering can.',
    asked: ['How can a friend get into the house?', 'Where is the second door key hidden?'],
  },
  {
    text: 'Uses a screen reader, so pictures need descriptions.',
    key: 'instruction/accessibility',
    asked: ['Why must images have alternative text?', 'Is the user visually impaired?'],
  },
  {
    text: 'Is learning Japanese and practises kanji at lunch.',
    asked: ['Which foreign language is she studying?', 'What does she do in the midday break?'],
  },
  {
    text: 'The dentist is Dr. Lindqvist in Harbour Street.',
    asked: ['Who takes care of his teeth?', 'Where do I book the dental check?'],
  },
  {
    text: 'Pays the gym membership yearly in January.',
    asked: ['When is the fitness studio fee due?', 'How often is the sports club charged?'],
  },
  {
    text: 'Sleeps badly in rooms that face a street.',
    asked: ['What kind of hotel room should I ask for?', 'Does noise at night bother him?'],
  },
  {
    text: 'Inherited a piano that needs tuning twice a year.',
    asked: ['What instrument stands in the living room?', 'How often must the piano be tuned?'],
  },
  {
    text: 'The company car policy allows no trips abroad.',
    asked: ['May I drive to another country with the work vehicle?', 'Is crossing the border in the firm car fine?'],
  },
  {
    text: 'Collects fountain pens and writes with green ink.',
    asked: ['What hobby does she have?', 'What does she write letters with?'],
  },
  {
    text: 'Her manager is Priya Nair, who signs travel requests.',
    asked: ['Who is her boss?', 'Whose signature does a business trip need?'],
  },
  {
    text: 'Wants to be addressed informally, by first name.',
    key: 'preference/address',
    asked: ['Should I write Mrs. Brandt or Anna?', 'Formal or casual salutation?'],
  },
  {
    text: 'Donates to the mountain rescue every December.',
    asked: ['Which charity does he support?', 'What does he give money to at the end of the year?'],
  },
  {
    text: 'Has knee trouble and avoids stairs.',
    asked: ['Does he have any physical complaint?', 'Is a climb to the tower a good plan?'],
  },
  {
    text: 'The boiler was serviced by Thermo Hahn in March.',
    asked: ['Who maintains the heating?', 'When was the furnace last checked?'],
  },
  {
    text: 'Prefers trains to planes for anything under six hours.',
    key: 'preference/travel',
    asked: ['Rail or air for a short journey?', 'How does she like to travel to Paris?'],
  },
  {
    text: 'Shares a vegetable garden with the Moreau family.',
    asked: ['With whom does he grow tomatoes?', 'Does she have an allotment?'],
  },
  {
    text: 'Files the tax return through the adviser Ms. Petrova.',
    asked: ['Who handles his taxes?', 'Which accountant should get the documents?'],
  },
  {
    text: 'Wants no notifications between ten at night and seven in the morning.',
    key: 'instruction/quiet',
    asked: ['When should messages be silent?', 'May I send an alert at midnight?'],
  },
  {
    text: 'Is godfather to Emil, who turns eight in September.',
    asked: ['Whose birthday is in autumn?', 'Does he have a godchild?'],
  },
  {
    text: 'Invests only in funds without weapons.',
    asked: ['Are there ethical limits to the portfolio?', 'Which stocks must be excluded?'],
  },
  {
    text: 'Stores passwords in a manager, never in notes.',
    key: 'instruction/passwords',
    asked: ['Where does she keep her logins?', 'Should I jot a credential down?'],
  },
  {
    text: 'Has a season pass for the open-air swimming pool.',
    asked: ['Where does she swim in summer?', 'Does he need to buy an entry for the lido?'],
  },
]

/** What was true and is not: `marker` is a word that nothing current has. */
export type StaleFact = {
  text: string
  marker: string
  key?: string
  how: 'superseded' | 'corrected' | 'expired' | 'forgotten'
  asked: string
}

export const stale: readonly StaleFact[] = [
  {
    text: 'Prefers refunds by cheque.',
    marker: 'cheque',
    key: 'preference/refund-channel',
    how: 'superseded',
    asked: 'Should the refund go out by cheque?',
  },
  {
    text: 'Pays in advance by wire.',
    marker: 'advance',
    key: 'preference/payment-terms',
    how: 'superseded',
    asked: 'Does the customer pay in advance?',
  },
  {
    text: 'Prefers to be contacted by fax.',
    marker: 'fax',
    key: 'preference/contact',
    how: 'superseded',
    asked: 'Can I send her a fax?',
  },
  {
    text: 'Flies in window seats to sleep.',
    marker: 'sleep.',
    key: 'preference/seat',
    how: 'superseded',
    asked: 'Does she want a window seat to sleep?',
  },
  {
    text: 'Prefers planes whenever possible.',
    marker: 'whenever',
    key: 'preference/travel',
    how: 'superseded',
    asked: 'Planes whenever possible?',
  },
  {text: 'Eats fish on Fridays.', marker: 'fish', key: 'fact/diet', how: 'superseded', asked: 'Does she eat fish?'},
  {text: 'The cat is named Pixel.', marker: 'Pixel', how: 'corrected', asked: 'What is the cat named?'},
  {
    text: 'Works at the Aachen branch.',
    marker: 'Aachen',
    how: 'corrected',
    asked: 'At which branch does he work, Aachen?',
  },
  {text: 'Is on parental leave until May.', marker: 'parental', how: 'expired', asked: 'Is she on parental leave?'},
  {
    text: 'The moving van is booked for Saturday.',
    marker: 'van',
    how: 'expired',
    asked: 'When does the moving van come?',
  },
  {text: 'Has a cast on the right arm.', marker: 'cast', how: 'expired', asked: 'Is his arm in a cast?'},
  {
    text: 'Was treated for insomnia at the Weiss clinic.',
    marker: 'insomnia',
    how: 'forgotten',
    asked: 'Was she treated for insomnia?',
  },
  {text: 'Earns 61,400 a year.', marker: '61,400', how: 'forgotten', asked: 'What does he earn in a year?'},
  {
    text: 'Is interviewing with a competitor.',
    marker: 'competitor',
    how: 'forgotten',
    asked: 'Is he interviewing with a competitor?',
  },
]
