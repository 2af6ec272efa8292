const examples = [
  {text: 'Where is order A17?', about: 'Reads the order from the shop'},
  {text: 'The mug in A17 arrived broken.', about: 'Writes the reply, refunds within policy'},
  {text: 'Order B22 arrived damaged, refund it.', about: 'Needs a team lead to approve'},
]

export function EmptyDesk({onTry}: {onTry: (text: string) => void}) {
  return (
    <section className="empty" aria-labelledby="empty-title">
      <h2 id="empty-title">What does the customer need?</h2>
      <p>
        The agent looks up orders, writes the reply with you and proposes refunds. It works on this device, with or
        without a connection.
      </p>
      <ul className="examples">
        {examples.map(({text, about}) => (
          <li key={text}>
            <button type="button" className="example" onClick={() => onTry(text)}>
              <span>{text}</span>
              <span className="example-about">{about}</span>
            </button>
          </li>
        ))}
      </ul>
      <p className="hint">Without a model key on the server, a rules provider answers. It is not a language model.</p>
    </section>
  )
}
